#include "tuner/worker/frames.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstddef>

namespace frit::tuner::worker {

namespace {

bool send_all(int socket, const char* data, size_t size) {
  while (size > 0) {
    // No SIGPIPE: a peer that is gone is an answer, not a reason to die.
    const ssize_t sent = send(socket, data, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    data += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

bool receive_all(int socket, char* data, size_t size) {
  while (size > 0) {
    const ssize_t got = recv(socket, data, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    data += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

}  // namespace

std::string frame_of(std::string_view message) {
  std::string out;
  out.reserve(8 + message.size());
  for (int k = 0; k < 8; ++k) out.push_back(static_cast<char>(uint64_t{message.size()} >> (8 * k) & 0xff));
  return out.append(message);
}

bool send_frame(int socket, std::string_view message) {
  const std::string frame = frame_of(message);
  return send_all(socket, frame.data(), frame.size());
}

bool receive_frame(int socket, std::string* message) {
  unsigned char head[8];
  if (!receive_all(socket, reinterpret_cast<char*>(head), sizeof head)) return false;
  uint64_t size = 0;
  for (int k = 8; k-- > 0;) size = size << 8 | head[k];
  if (size > kLargestFrame) return false;
  message->resize(size);
  return receive_all(socket, message->data(), size);
}

}  // namespace frit::tuner::worker
