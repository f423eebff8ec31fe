// Requests over HTTP and HTTPS, by the system's libcurl.
#ifndef SHARDC_RUNTIME_MLFLOW_HTTP_H
#define SHARDC_RUNTIME_MLFLOW_HTTP_H

#include <atomic>
#include <cstdint>
#include <string>

namespace shardc::runtime {

/// What all requests to a server have in common.
struct HttpSettings {
  std::string username, password; // empty: none
  std::string token;              // sent as a bearer's; empty: none
  bool checksCertificate = true;
  std::string authorities;       // a file of certificates; empty: the system's
  std::string clientCertificate; // a file; empty: none
  double timeout = 30;           // seconds of a request
};

struct HttpRequest {
  std::string method, url;
  std::string body; // JSON
  std::string file; // sent instead of the body, where it is not empty
};

struct HttpAnswer {
  long status = 0;
  std::string body;
};

/// The library is opened at run time, so that certificates and ciphers are the
/// system's and the trainer stays one file. One thread sends.
class Http {
public:
  /// Throws an Error where there is no libcurl.
  explicit Http(HttpSettings settings);
  Http(const Http &) = delete;
  ~Http();

  /// Follows redirects. Throws an Error where there is no answer.
  HttpAnswer send(const HttpRequest &request);

  /// What is sent now and later ends with an error. For other threads.
  void abandon() { abandoned = true; }
  bool isAbandoned() const { return abandoned; }

private:
  HttpSettings settings;
  void *handle = nullptr; // keeps the connection from request to request
  std::atomic<bool> abandoned = false;
};

/// A part of a path or a query: what is neither letter, digit nor one of -._~
/// becomes %XX.
std::string percentEncoded(const std::string &text);

} // namespace shardc::runtime

#endif
