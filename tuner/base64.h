// Base64 (RFC 4648, padded), strict in what it reads: one text per content, so that a pack has one form.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace frit::tuner {

std::string base64(std::string_view bytes);
std::optional<std::string> from_base64(std::string_view text);

}  // namespace frit::tuner
