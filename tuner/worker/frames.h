// Frames: messages of any bytes over a stream socket, between the tuner and its worker process.
//
// A frame is its length, 8 bytes little-endian, then its bytes. It must not know what messages mean.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace frit::tuner::worker {

inline constexpr uint64_t kLargestFrame = uint64_t{256} << 20;

std::string frame_of(std::string_view message);

// Both block; false where the other side is gone, or sends what is no frame. For the worker's side: the
// tuner's side must not trust, nor wait for ever.
bool send_frame(int socket, std::string_view message);
bool receive_frame(int socket, std::string* message);

}  // namespace frit::tuner::worker
