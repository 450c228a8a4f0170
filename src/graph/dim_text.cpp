// Text of Dim: expr = term {(+|-) term}; term = unary {(*|/|%) unary}; unary = [-] primary;
// primary = number | symbol | "quoted symbol" | min(expr, ...) | max(expr, ...) | ( expr ). "/" rounds down.
#include <cctype>
#include <limits>

#include "base/try.h"
#include "graph/dim.h"
#include "graph/dim_terms.h"

namespace frit::graph {
namespace {

using Kind = DimAtom::Kind;
constexpr int kMaxDepth = 200;

bool is_word_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '?'; }
bool is_word(char c) { return is_word_start(c) || std::isdigit(static_cast<unsigned char>(c)) || c == '.'; }

std::string symbol_text(const std::string& name) {
  bool plain = !name.empty() && is_word_start(name[0]);
  for (char c : name) plain = plain && is_word(c);
  if (plain) return name;
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (char c : name) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (u < 0x20 || u == 0x7f) {
      out += "\\x";
      out += kHex[u >> 4];
      out += kHex[u & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string print(const Dim& d);

// A text that may stand to the right of "/".
std::string divisor_text(const Dim& d) {
  const DimTerms::Map* map = DimTerms::get(d);
  const bool simple =
      map ? map->size() > 1 || (map->begin()->second == 1 && map->begin()->first.size() == 1 &&
                                map->begin()->first[0]->kind != Kind::kFloorDiv)
          : d.value() >= 0;
  return simple ? print(d) : "(" + print(d) + ")";
}

std::string atom_text(const DimAtom& atom, bool alone) {
  switch (atom.kind) {
    case Kind::kSymbol:
      return symbol_text(atom.name);
    case Kind::kFloorDiv: {
      const std::string text = print(atom.args[0]) + "/" + divisor_text(atom.args[1]);
      // After another term a leading minus would read as subtraction of the quotient, which rounds the other
      // way.
      return alone && text[0] != '-' ? text : "(" + text + ")";
    }
    case Kind::kMin:
    case Kind::kMax:
      break;
  }
  std::string out = atom.kind == Kind::kMin ? "min(" : "max(";
  for (size_t i = 0; i < atom.args.size(); ++i) out += (i ? "," : "") + print(atom.args[i]);
  return out + ")";
}

std::string term_text(const DimProduct& product, int64_t k) {
  if (product.empty()) return std::to_string(k);
  std::string out;
  if (k == -1) {
    out = "-";
  } else if (k != 1) {
    out = std::to_string(k) + "*";
  }
  for (size_t i = 0; i < product.size(); ++i) {
    out += (i ? "*" : "") + atom_text(*product[i], k == 1 && product.size() == 1);
  }
  return out;
}

std::string print(const Dim& d) {
  const DimTerms::Map* map = DimTerms::get(d);
  if (!map) return std::to_string(d.value());
  if (map->size() == 1) return term_text(map->begin()->first, map->begin()->second);
  std::string out;
  auto append = [&out](const DimProduct& product, int64_t k) {
    const std::string text = term_text(product, k);
    if (!out.empty() && text[0] != '-') out += '+';
    out += text;
  };
  // The constant stands last, where readers expect it.
  for (const auto& [product, k] : *map) {
    if (!product.empty()) append(product, k);
  }
  if (const auto it = map->find(DimProduct{}); it != map->end()) append({}, it->second);
  return "(" + out + ")";
}

class DimParser {
 public:
  explicit DimParser(std::string_view text) : text_(text) {}

  Result<Dim> run() {
    FRIT_ASSIGN(Dim d, expression());
    skip_spaces();
    if (at_ != text_.size()) return fail("unexpected '" + std::string(1, text_[at_]) + "'");
    return d;
  }

 private:
  Error fail(const std::string& what) const {
    return make_error(Code::kInvalidArgument, "dimension \"" + std::string(text_.substr(0, 200)) +
                                                  "\": " + what + " at position " + std::to_string(at_));
  }
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  char peek() {
    skip_spaces();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  Result<Dim> expression() {
    FRIT_ASSIGN(Dim sum, term());
    while (true) {
      if (take('+')) {
        FRIT_ASSIGN(const Dim next, term());
        sum = sum + next;
      } else if (take('-')) {
        FRIT_ASSIGN(const Dim next, term());
        sum = sum - next;
      } else {
        return sum;
      }
    }
  }

  Result<Dim> term() {
    FRIT_ASSIGN(Dim product, unary());
    while (true) {
      const char op = peek();
      if (op != '*' && op != '/' && op != '%') return product;
      ++at_;
      FRIT_ASSIGN(const Dim next, unary());
      if (op != '*' && next.constant() == 0) return fail("division by 0");
      product = op == '*' ? product * next : op == '/' ? floor_div(product, next) : mod(product, next);
    }
  }

  Result<Dim> unary() {
    if (depth_ >= kMaxDepth) return fail("nested too deeply");
    ++depth_;
    const bool negative = take('-');
    Result<Dim> out = negative ? unary() : primary();
    --depth_;
    if (negative && out.ok()) return Dim(0) - *out;
    return out;
  }

  Result<Dim> primary() {
    const char c = peek();
    if (c == '(') {
      ++at_;
      FRIT_ASSIGN(Dim d, expression());
      if (!take(')')) return fail("expected ')'");
      return d;
    }
    if (c == '"') return quoted();
    if (std::isdigit(static_cast<unsigned char>(c))) return number();
    if (!is_word_start(c)) return fail("expected a size");
    const size_t first = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    const std::string name(text_.substr(first, at_ - first));
    if ((name != "min" && name != "max") || peek() != '(') return Dim::symbol(name);
    ++at_;
    FRIT_ASSIGN(Dim out, expression());
    while (take(',')) {
      FRIT_ASSIGN(const Dim next, expression());
      out = name == "min" ? min(out, next) : max(out, next);
    }
    if (!take(')')) return fail("expected ')'");
    return out;
  }

  // Up to 2^63, so that the most negative number can be written with its sign.
  Result<Dim> number() {
    constexpr uint64_t kLimit = uint64_t{1} << 63;
    uint64_t value = 0;
    for (; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])); ++at_) {
      const auto digit = static_cast<uint64_t>(text_[at_] - '0');
      if (value > (kLimit - digit) / 10) return fail("number is too large");
      value = value * 10 + digit;
    }
    return Dim(static_cast<int64_t>(value));
  }

  Result<Dim> quoted() {
    auto digit = [](char c) {
      return std::isdigit(static_cast<unsigned char>(c)) ? c - '0' : (c | 32) - 'a' + 10;
    };
    std::string name;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] != '\\') {
        name += text_[at_];
        continue;
      }
      ++at_;
      if (at_ + 2 < text_.size() && text_[at_] == 'x' &&
          std::isxdigit(static_cast<unsigned char>(text_[at_ + 1])) &&
          std::isxdigit(static_cast<unsigned char>(text_[at_ + 2]))) {
        name += static_cast<char>(digit(text_[at_ + 1]) * 16 + digit(text_[at_ + 2]));
        at_ += 2;
      } else if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\\')) {
        name += text_[at_];
      } else {
        return fail("bad escape");
      }
    }
    if (at_ == text_.size()) return fail("unterminated quote");
    ++at_;
    return Dim::symbol(std::move(name));
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string Dim::text() const { return print(*this); }
Result<Dim> Dim::parse(std::string_view text) { return DimParser(text).run(); }

std::string shape_text(const Shape& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += (i ? "," : "") + shape[i].text();
  return out + "]";
}

}  // namespace frit::graph
