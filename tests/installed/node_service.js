// A service as one writes it with Node.
const http = require("node:http");

http
  .createServer((request, response) => {
    const words = Array.from({ length: 100 }, (_, n) => `word ${n}`).sort();
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ words }));
  })
  .listen(18082, "127.0.0.1");
