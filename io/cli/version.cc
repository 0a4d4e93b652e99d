namespace exawarp::io {
extern const char* const kVersion;
const char* const kVersion = "0.1.0";
}  // namespace exawarp::io
