#include "codegen/cpu/emit.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include <llvm/IR/Module.h>

#include "codegen/cpu/unroll.h"
#include "device/kernel_abi.h"
#include "loop/build.h"
#include "loop/scratch.h"

namespace frit::codegen {
namespace {

using loop::Expr;
using loop::ExprKind;
using loop::ExprNode;
using loop::OpCode;
using loop::Space;
using loop::Stmt;
using loop::StmtKind;

// One term of an address: coefficient * node, or a plain constant when node is null.
struct Term {
  const ExprNode* node;
  int64_t coefficient;
};
using Terms = std::vector<std::pair<const ExprNode*, int64_t>>;

// One element of a register buffer.
using Slot = std::pair<int32_t, int64_t>;

class Emitter {
 public:
  Emitter(const loop::LoopFn& fn, const CpuTraits& traits, llvm::Module& module)
      : fn_(fn), traits_(traits), module_(module), context_(module.getContext()), b_(context_), ops_(b_) {}

  Status emit(const std::string& symbol) {
    auto* type = llvm::FunctionType::get(b_.getInt32Ty(), {b_.getPtrTy()}, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, module_);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    function_->setUWTableKind(llvm::UWTableKind::Async);
    if (!traits_.cpu.empty()) function_->addFnAttr("target-cpu", traits_.cpu);
    function_->addFnAttr("target-features", traits_.features);
    function_->addFnAttr("prefer-vector-width", "512");
    function_->addFnAttr("no-trapping-math", "true");

    b_.SetInsertPoint(new_block("entry"));
    scopes_.emplace_back();
    prologue();
    llvm::Value* first = argument_field(offsetof(device::KernelArgs, first_tile), b_.getInt64Ty());
    llvm::Value* last = argument_field(offsetof(device::KernelArgs, last_tile), b_.getInt64Ty());
    Stmt body = expand_unrolled(*fn_.context, fn_.body);
    make_register_slots();
    counted_loop(first, last, 1, {}, [&](llvm::Value* t) {
      for (size_t k = fn_.tiles.size(); k-- > 0;) {
        if (k == 0) {
          define(fn_.tiles[k].var.node, t);
        } else {
          llvm::Value* extent = value(fn_.tiles[k].extent.node);
          define(fn_.tiles[k].var.node, b_.CreateURem(t, extent));
          t = b_.CreateUDiv(t, extent);
        }
      }
      statement(body);
    });
    b_.CreateRet(b_.getInt32(0));
    if (!failed_.ok()) return std::move(failed_).error();
    return {};
  }

 private:
  // ---- scopes: where a value may be used, and where loop-invariant code goes ------------------------------------------

  struct Scope {
    std::unordered_map<const ExprNode*, llvm::Value*> values;
    std::map<std::pair<int32_t, Terms>, llvm::Value*> addresses;
    llvm::Instruction* hoist_before = nullptr;  // the branch into the next deeper scope, while that is open
  };

  llvm::BasicBlock* new_block(const char* name) { return llvm::BasicBlock::Create(context_, name, function_); }

  int top_level() const { return floor_ >= 0 ? floor_ : static_cast<int>(scopes_.size()) - 1; }
  Scope& scope(int level) { return scopes_[static_cast<size_t>(level)]; }

  void define(const ExprNode* var, llvm::Value* v) {
    scopes_.back().values[var] = v;
    level_[var] = static_cast<int>(scopes_.size()) - 1;
  }

  // The deepest scope that a pure expression depends on. Every variable is defined once (expand_unrolled renames), so
  // the answer never changes.
  int level_of(const ExprNode* e) {
    if (!e) return 0;
    if (auto it = level_.find(e); it != level_.end()) return it->second;
    if (!e->a) return 0;
    int level = std::max({level_of(e->a), level_of(e->b), level_of(e->c)});
    if (may_trap(e)) level = static_cast<int>(scopes_.size()) - 1;
    else level_[e] = level;
    return level;
  }

  // Integer division by what might be zero must stay behind the check that excludes it.
  static bool may_trap(const ExprNode* e) {
    if (e->kind != ExprKind::kBinary || is_float(e->type.dtype)) return false;
    if (e->op != OpCode::kDiv && e->op != OpCode::kRem && e->op != OpCode::kFloorDiv && e->op != OpCode::kFloorMod) return false;
    int64_t v = 0;
    return !loop::as_int(Expr{e->b}, &v) || v == 0;
  }

  // Runs `make` with the builder placed at the end of the given level's own code.
  template <class F>
  llvm::Value* at_level(int level, F make) {
    if (level == static_cast<int>(scopes_.size()) - 1) return make();
    llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetInsertPoint(scope(level).hoist_before);
    const int outer = floor_;
    floor_ = level;
    llvm::Value* r = make();
    floor_ = outer;
    return r;
  }

  bool has_load(const ExprNode* e) {
    if (!e || !e->a) return false;
    if (e->kind == ExprKind::kLoad) return true;
    if (auto it = has_load_.find(e); it != has_load_.end()) return it->second;
    const bool r = has_load(e->a) || has_load(e->b) || has_load(e->c);
    has_load_[e] = r;
    return r;
  }

  llvm::Value* value(const ExprNode* e) {
    if (e->kind == ExprKind::kInt || e->kind == ExprKind::kFloat) return ops_.constant(e->bits, e->type);
    if (has_load(e)) {
      // Within one statement a load is done once; between statements memory may have changed.
      if (auto it = statement_values_.find(e); it != statement_values_.end()) return it->second;
      llvm::Value* v = e->kind == ExprKind::kLoad ? load(e) : compute(e);
      statement_values_[e] = v;
      return v;
    }
    for (int k = top_level(); k >= 0; --k)
      if (auto it = scope(k).values.find(e); it != scope(k).values.end()) return it->second;
    const int level = std::min(level_of(e), top_level());
    llvm::Value* v = at_level(level, [&] { return compute(e); });
    scope(level).values[e] = v;
    return v;
  }

  llvm::Value* compute(const ExprNode* e) {
    llvm::Value* a = e->a ? value(e->a) : nullptr;
    llvm::Value* m = e->b ? value(e->b) : nullptr;
    llvm::Value* c = e->c ? value(e->c) : nullptr;
    switch (e->kind) {
      case ExprKind::kSize: return sizes_[static_cast<size_t>(e->id)];
      case ExprKind::kUnary: return ops_.unary(e->op, a, e->a->type);
      case ExprKind::kBinary: return ops_.binary(e->op, a, m, e->a->type);
      case ExprKind::kFma: return ops_.fma(a, m, c, e->type);
      case ExprKind::kSelect: return b_.CreateSelect(a, m, c);
      case ExprKind::kCast: return ops_.cast(a, e->a->type, e->type);
      case ExprKind::kBitcast: return ops_.bitcast(a, e->type);
      case ExprKind::kSplat: return ops_.splat(a, e->type.lanes);
      case ExprKind::kRamp: return ops_.ramp(a, e->bits, e->type);
      case ExprKind::kReduce: return ops_.reduce(e->op, a, e->a->type);
      case ExprKind::kShuffle: return ops_.shuffle(a, m, e->lanes);
      default: break;
    }
    fail("a variable is used where it has no value");
    return llvm::PoisonValue::get(ops_.type(e->type));
  }

  void fail(std::string what) {
    if (failed_.ok()) failed_ = make_error(Code::kInternal, "emitting " + fn_.family + ": " + std::move(what));
  }

  // ---- memory -----------------------------------------------------------------------------------------------------------

  llvm::Value* argument_field(size_t offset, llvm::Type* type) {
    return b_.CreateLoad(type, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), function_->getArg(0), offset));
  }

  void prologue() {
    llvm::Value* buffers = argument_field(offsetof(device::KernelArgs, buffers), b_.getPtrTy());
    llvm::Value* sizes = argument_field(offsetof(device::KernelArgs, sizes), b_.getPtrTy());
    llvm::Value* scratch = argument_field(offsetof(device::KernelArgs, scratch), b_.getPtrTy());
    bases_.assign(fn_.buffers.size(), nullptr);
    for (size_t k = 0; k < static_cast<size_t>(fn_.arg_count); ++k)
      bases_[k] = b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), buffers, k));
    for (size_t k = 0; k < static_cast<size_t>(fn_.size_count); ++k)
      sizes_.push_back(b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), sizes, k)));
    const auto layout = loop::scratch_layout(fn_);
    for (const auto& buffer : fn_.buffers) {
      if (buffer.space != Space::kStack) continue;
      const auto id = static_cast<size_t>(buffer.id);
      if (layout.offsets[id] >= 0) {
        bases_[id] = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), scratch, static_cast<uint64_t>(layout.offsets[id]));
        continue;
      }
      int64_t size = 0;
      loop::as_int(buffer.size, &size);
      auto* a = b_.CreateAlloca(ops_.memory_type(buffer.dtype, 1), b_.getInt64(static_cast<uint64_t>(size)));
      a->setAlignment(llvm::Align(64));
      bases_[id] = a;
    }
    auto* zero = b_.CreateAlloca(b_.getInt64Ty());
    b_.CreateStore(b_.getInt64(0), zero);
    zero_slot_ = zero;
  }

  void collect_terms(const ExprNode* e, int64_t k, std::vector<Term>& out) {
    int64_t c = 0;
    const bool binary = e->kind == ExprKind::kBinary;
    if (loop::as_int(Expr{e}, &c)) {
      out.push_back({nullptr, c * k});
    } else if (binary && (e->op == OpCode::kAdd || e->op == OpCode::kSub)) {
      collect_terms(e->a, k, out);
      collect_terms(e->b, e->op == OpCode::kSub ? -k : k, out);
    } else if (binary && e->op == OpCode::kMul && loop::as_int(Expr{e->b}, &c)) {
      collect_terms(e->a, k * c, out);
    } else if (binary && e->op == OpCode::kMul && loop::as_int(Expr{e->a}, &c)) {
      collect_terms(e->b, k * c, out);
    } else {
      out.push_back({e, k});
    }
  }

  // base + (terms of outer scopes) + (terms of inner scopes) + constant, each prefix made once in its own scope: a row's
  // pointer is computed outside of the loop over K, and constants fold into the addressing mode.
  llvm::Value* pointer(int32_t buffer, const ExprNode* index, int64_t element_bytes) {
    llvm::Type* element = b_.getIntNTy(static_cast<unsigned>(element_bytes * 8));
    std::vector<Term> terms;
    collect_terms(index, 1, terms);
    int64_t constant = 0;
    std::map<std::pair<int, uint64_t>, Term> ordered;  // by (level, creation), so that equal sums meet
    for (const Term& t : terms) {
      if (!t.node) {
        constant += t.coefficient;
        continue;
      }
      Term& sum = ordered[{has_load(t.node) ? static_cast<int>(scopes_.size()) - 1 : level_of(t.node), t.node->serial}];
      sum = {t.node, sum.coefficient + t.coefficient};
    }
    llvm::Value* p = bases_[static_cast<size_t>(buffer)];
    Terms prefix;
    for (auto it = ordered.begin(); it != ordered.end();) {
      const int level = it->first.first;
      Terms here;
      bool loads = false;
      for (; it != ordered.end() && it->first.first == level; ++it) {
        if (it->second.coefficient == 0) continue;
        here.emplace_back(it->second.node, it->second.coefficient);
        loads = loads || has_load(it->second.node);
      }
      if (here.empty()) continue;
      prefix.insert(prefix.end(), here.begin(), here.end());
      auto& cache = scope(level).addresses;
      const auto key = std::make_pair(buffer, prefix);
      if (auto known = cache.find(key); known != cache.end() && !loads) {
        p = known->second;
        continue;
      }
      p = at_level(level, [&] {
        llvm::Value* sum = nullptr;
        for (const auto& [node, k] : here) {
          llvm::Value* v = value(node);
          if (!v->getType()->isIntegerTy(64)) v = b_.CreateSExt(v, b_.getInt64Ty());
          if (k != 1) v = b_.CreateMul(v, b_.getInt64(static_cast<uint64_t>(k)));
          sum = sum ? b_.CreateAdd(sum, v) : v;
        }
        return b_.CreateGEP(element, p, sum);
      });
      if (!loads) cache.emplace(key, p);
    }
    return constant ? b_.CreateConstGEP1_64(element, p, static_cast<uint64_t>(constant)) : p;
  }

  llvm::Value* lane_pointers(int32_t buffer, const ExprNode* index, int64_t element_bytes) {
    return b_.CreateGEP(b_.getIntNTy(static_cast<unsigned>(element_bytes * 8)), bases_[static_cast<size_t>(buffer)], value(index));
  }

  llvm::Value* lane_mask(const ExprNode* mask, int32_t lanes) {
    return mask->type.lanes > 1 ? value(mask) : ops_.splat(value(mask), lanes);
  }

  // Elements are at most as aligned as the memory that they lie in: constants in a model file may start anywhere.
  static llvm::Align element_align(const loop::Buffer& buffer) {
    return llvm::Align(std::min<uint64_t>(dtype_bytes(buffer.dtype), static_cast<uint64_t>(buffer.align_bytes)));
  }

  llvm::Value* load(const ExprNode* e) {
    const loop::Buffer& buffer = fn_.buffers[static_cast<size_t>(e->id)];
    if (buffer.space == Space::kRegister) {
      llvm::Value** slot = register_slot(buffer.id, Expr{e->a});
      return slot ? *slot : llvm::PoisonValue::get(ops_.type(e->type));
    }
    const auto bytes = static_cast<int64_t>(dtype_bytes(buffer.dtype));
    const llvm::Align align = element_align(buffer);
    llvm::Type* type = ops_.memory_type(buffer.dtype, e->type.lanes);
    llvm::Value* raw = nullptr;
    if (e->a->type.lanes > 1) {
      llvm::Value* pointers = lane_pointers(buffer.id, e->a, bytes);
      raw = b_.CreateMaskedGather(type, pointers, align, e->b ? lane_mask(e->b, e->type.lanes) : nullptr, llvm::Constant::getNullValue(type));
    } else if (e->b && e->type.lanes > 1) {
      llvm::Value* p = pointer(buffer.id, e->a, bytes);
      raw = b_.CreateMaskedLoad(type, p, align, lane_mask(e->b, e->type.lanes), llvm::Constant::getNullValue(type));
    } else {
      llvm::Value* p = pointer(buffer.id, e->a, bytes);
      // A scalar behind a condition: read the element, or a zero that is always there.
      if (e->b) p = b_.CreateSelect(value(e->b), p, zero_slot_);
      auto* i = b_.CreateAlignedLoad(type, p, align);
      if (!e->b && buffer.space == Space::kGlobal && buffer.access == loop::Access::kRead && buffer.may_alias.empty())
        i->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
      raw = i;
    }
    return ops_.from_memory(raw, buffer.dtype);
  }

  llvm::Value** register_slot(int32_t buffer, Expr index) {
    int64_t i = -1;
    auto& slots = registers_[buffer];
    if (loop::as_int(index, &i) && i >= 0 && i < static_cast<int64_t>(slots.size())) return &slots[static_cast<size_t>(i)];
    fail("the index of a register buffer is not a constant inside it");
    return nullptr;
  }

  void store(const Stmt& s) {
    const loop::Buffer& buffer = fn_.buffers[static_cast<size_t>(s->id)];
    llvm::Value* v = value(s->b.node);
    if (buffer.space == Space::kRegister) {
      if (llvm::Value** slot = register_slot(buffer.id, s->a)) *slot = v;
      return;
    }
    v = ops_.to_memory(v, buffer.dtype);
    const auto bytes = static_cast<int64_t>(dtype_bytes(buffer.dtype));
    const llvm::Align align = element_align(buffer);
    const int32_t lanes = s->b->type.lanes;
    if (s->a->type.lanes > 1) {
      llvm::Value* pointers = lane_pointers(buffer.id, s->a.node, bytes);
      b_.CreateMaskedScatter(v, pointers, align, s->c ? lane_mask(s->c.node, lanes) : nullptr);
      return;
    }
    llvm::Value* p = pointer(buffer.id, s->a.node, bytes);
    if (!s->c) {
      b_.CreateAlignedStore(v, p, align);
    } else if (lanes > 1) {
      b_.CreateMaskedStore(v, p, align, lane_mask(s->c.node, lanes));
    } else {
      auto* then = new_block("store");
      auto* after = new_block("stored");
      b_.CreateCondBr(value(s->c.node), then, after);
      b_.SetInsertPoint(then);
      b_.CreateAlignedStore(v, p, align);
      b_.CreateBr(after);
      b_.SetInsertPoint(after);
    }
  }

  // ---- statements -------------------------------------------------------------------------------------------------------

  void make_register_slots() {
    for (const auto& buffer : fn_.buffers) {
      if (buffer.space != Space::kRegister) continue;
      int64_t n = 0;
      loop::as_int(buffer.size, &n);
      registers_[buffer.id].assign(static_cast<size_t>(n), llvm::PoisonValue::get(ops_.type({buffer.dtype, buffer.lanes})));
    }
  }

  // The register slots that a statement writes.
  void written(const Stmt& s, std::set<Slot>& out) {
    if (!s) return;
    int64_t i = 0;
    if (s->kind == StmtKind::kStore && fn_.buffers[static_cast<size_t>(s->id)].space == Space::kRegister &&
        loop::as_int(s->a, &i) && i >= 0 && i < static_cast<int64_t>(registers_[s->id].size()))
      out.insert({s->id, i});
    for (const Stmt& child : s->body) written(child, out);
  }
  llvm::Value*& slot(const Slot& s) { return registers_[s.first][static_cast<size_t>(s.second)]; }

  // if (begin < end) do body while ((iv += step) < end). Slots that the body writes become phis. Code that does not
  // depend on the loop goes before the guard: it is free of side effects and cannot trap.
  template <class F>
  void counted_loop(llvm::Value* begin, llvm::Value* end, int64_t step, const std::set<Slot>& slots, F body) {
    const auto* lo = llvm::dyn_cast<llvm::ConstantInt>(begin);
    const auto* hi = llvm::dyn_cast<llvm::ConstantInt>(end);
    const bool runs = lo && hi && lo->getSExtValue() < hi->getSExtValue();
    auto* before = b_.GetInsertBlock();
    auto* head = new_block("loop");
    auto* exit = new_block("exit");
    std::map<Slot, llvm::Value*> incoming;
    for (const Slot& s : slots) incoming[s] = slot(s);
    scopes_.back().hoist_before =
        runs ? b_.CreateBr(head) : b_.CreateCondBr(b_.CreateICmpSLT(begin, end), head, exit);

    b_.SetInsertPoint(head);
    auto* iv = b_.CreatePHI(begin->getType(), 2);
    iv->addIncoming(begin, before);
    std::map<Slot, llvm::PHINode*> phis;
    for (const Slot& s : slots) {
      phis[s] = b_.CreatePHI(incoming[s]->getType(), 2);
      phis[s]->addIncoming(incoming[s], before);
      slot(s) = phis[s];
    }
    scopes_.emplace_back();
    statement_values_.clear();
    body(iv);
    statement_values_.clear();
    scopes_.pop_back();
    auto* latch = b_.GetInsertBlock();
    llvm::Value* next = b_.CreateAdd(iv, llvm::ConstantInt::get(iv->getType(), static_cast<uint64_t>(step)), "", false, true);
    iv->addIncoming(next, latch);
    for (const Slot& s : slots) phis[s]->addIncoming(slot(s), latch);
    b_.CreateCondBr(b_.CreateICmpSLT(next, end), head, exit);

    b_.SetInsertPoint(exit);
    for (const Slot& s : slots) {
      if (runs) continue;  // one predecessor: the value itself dominates
      auto* phi = b_.CreatePHI(incoming[s]->getType(), 2);
      phi->addIncoming(incoming[s], before);
      phi->addIncoming(slot(s), latch);
      slot(s) = phi;
    }
  }

  void statement(const Stmt& s) {
    if (!s || !failed_.ok()) return;
    statement_values_.clear();
    switch (s->kind) {
      case StmtKind::kBlock:
        for (const Stmt& child : s->body) statement(child);
        return;
      case StmtKind::kLet: define(variable(s->id, s->a->type), value(s->a.node)); return;
      case StmtKind::kStore: store(s); return;
      case StmtKind::kFor: {
        llvm::Value* begin = value(s->a.node);
        llvm::Value* end = value(s->b.node);
        int64_t step = 1;
        loop::as_int(s->c, &step);
        std::set<Slot> slots;
        written(s->body[0], slots);
        counted_loop(begin, end, step, slots, [&](llvm::Value* iv) {
          define(variable(s->id, s->c->type), iv);
          statement(s->body[0]);
        });
        return;
      }
      case StmtKind::kIf: conditional(s); return;
      case StmtKind::kAlloc: statement(s->body[0]); return;
      case StmtKind::kBarrier: return;  // one worker runs a tile
      case StmtKind::kFail: fail_check(s); return;
    }
  }

  const ExprNode* variable(int32_t id, loop::Type type) {
    ExprNode n{};
    n.kind = ExprKind::kVar;
    n.type = type;
    n.id = id;
    return fn_.context->intern(n).node;
  }

  void conditional(const Stmt& s) {
    llvm::Value* condition = value(s->a.node);
    std::set<Slot> slots;
    for (const Stmt& child : s->body) written(child, slots);
    std::map<Slot, llvm::Value*> incoming, chosen;
    for (const Slot& k : slots) incoming[k] = slot(k);
    const bool has_else = s->body.size() > 1 && s->body[1];
    auto* before = b_.GetInsertBlock();
    auto* then = new_block("then");
    auto* otherwise = has_else ? new_block("else") : nullptr;
    auto* after = new_block("after");
    scopes_.back().hoist_before = b_.CreateCondBr(condition, then, has_else ? otherwise : after);
    auto branch = [&](llvm::BasicBlock* block, const Stmt& body) {
      b_.SetInsertPoint(block);
      scopes_.emplace_back();
      statement(body);
      scopes_.pop_back();
      auto* end = b_.GetInsertBlock();
      b_.CreateBr(after);
      return end;
    };
    auto* then_end = branch(then, s->body[0]);
    for (const Slot& k : slots) {
      chosen[k] = slot(k);
      slot(k) = incoming[k];
    }
    auto* other_end = has_else ? branch(otherwise, s->body[1]) : before;
    b_.SetInsertPoint(after);
    statement_values_.clear();
    for (const Slot& k : slots) {
      auto* phi = b_.CreatePHI(incoming[k]->getType(), 2);
      phi->addIncoming(chosen[k], then_end);
      phi->addIncoming(slot(k), other_end);
      slot(k) = phi;
    }
  }

  void fail_check(const Stmt& s) {
    llvm::Value* condition = value(s->a.node);
    llvm::Value* words[device::kErrorWords] = {b_.getInt64(static_cast<uint64_t>(s->code)), s->b ? value(s->b.node) : b_.getInt64(0),
                                               s->c ? value(s->c.node) : b_.getInt64(0)};
    auto* bad = new_block("fail");
    auto* good = new_block("checked");
    b_.CreateCondBr(condition, bad, good);
    b_.SetInsertPoint(bad);
    llvm::Value* word = argument_field(offsetof(device::KernelArgs, error), b_.getPtrTy());
    for (unsigned k = 0; k < device::kErrorWords; ++k) {
      llvm::Value* v = b_.CreateSExtOrTrunc(words[k], b_.getInt64Ty());
      b_.CreateStore(v, b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), word, k));
    }
    b_.CreateRet(b_.getInt32(static_cast<uint32_t>(s->code)));
    b_.SetInsertPoint(good);
    statement_values_.clear();
  }

  const loop::LoopFn& fn_;
  const CpuTraits& traits_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> b_;
  ValueOps ops_;
  llvm::Function* function_ = nullptr;
  llvm::Value* zero_slot_ = nullptr;
  std::vector<llvm::Value*> bases_, sizes_;
  std::vector<Scope> scopes_;
  std::unordered_map<const ExprNode*, int> level_;
  std::unordered_map<const ExprNode*, bool> has_load_;
  std::unordered_map<const ExprNode*, llvm::Value*> statement_values_;
  std::map<int32_t, std::vector<llvm::Value*>> registers_;
  int floor_ = -1;  // while code is placed outside of loops: the level it is placed at
  Status failed_;
};

}  // namespace

Status emit_kernel(const loop::LoopFn& fn, const std::string& symbol, const CpuTraits& traits, llvm::Module& module) {
  return Emitter(fn, traits, module).emit(symbol);
}

}  // namespace frit::codegen
