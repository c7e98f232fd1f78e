// Speech: an input is a recording, the answer the words that are heard (TailBench's sphinx, P4).
#include <pocketsphinx.h>

#include "front.hpp"

namespace {

constexpr size_t WIDTH = 200;
constexpr const char *PROGRAM = "sojourn-sphinx 1 (pocketsphinx 0.8+5prealpha)";

class Decoder : public words::Desk {
public:
    // The mean of a recording is taken of all of it, so that no answer depends on those before it.
    explicit Decoder(const std::string &data) : data_(data) {
        const std::string model = data + "/model/", hmm = model + "en-us",
                          lm = model + "en-us.lm.bin", dict = model + "cmudict-en-us.dict";
        config_ = cmd_ln_init(nullptr, ps_args(), TRUE, "-hmm", hmm.c_str(), "-lm", lm.c_str(),
                              "-dict", dict.c_str(), "-cmn", "batch", "-logfn", "/dev/null", nullptr);
        decoder_ = config_ ? ps_init(config_) : nullptr;
        if (!decoder_)
            throw words::Fault("the model cannot be read", model,
                               "sojourn install sphinx makes it anew");
    }

    ~Decoder() override {
        ps_free(decoder_);
        cmd_ln_free_r(config_);
    }

    std::string answer(const std::string &input) override {
        const std::vector<int16> speech = recording(data_ + "/speech/" + input);
        int32 score = 0;
        ps_start_stream(decoder_); // forgets the noise that it has heard
        if (ps_start_utt(decoder_) < 0 ||
            ps_process_raw(decoder_, speech.data(), speech.size(), FALSE, TRUE) < 0 ||
            ps_end_utt(decoder_) < 0)
            throw std::runtime_error("the decoder fails at " + input);
        const char *heard = ps_get_hyp(decoder_, &score);
        if (!heard || *heard == '\0')
            throw std::runtime_error("nothing is heard in " + input);
        return heard;
    }

private:
    const std::string data_;
    cmd_ln_t *config_ = nullptr;
    ps_decoder_t *decoder_ = nullptr;

    // 16-bit samples, 16 000 a second, without a head.
    static std::vector<int16> recording(const std::string &path) {
        std::ifstream file(path, std::ios::binary | std::ios::ate);
        const std::streamoff bytes = file ? std::streamoff(file.tellg()) : 0;
        std::vector<int16> speech(size_t(bytes) / sizeof(int16));
        file.seekg(0);
        if (speech.empty() || !file.read(reinterpret_cast<char *>(speech.data()),
                                         std::streamsize(speech.size() * sizeof(int16))))
            throw std::runtime_error("no recording can be read at " + path);
        return speech;
    }
};

std::unique_ptr<words::Desk> make(const words::Settings &settings, unsigned) {
    return std::make_unique<Decoder>(settings.data);
}

} // namespace

int main(int argc, char **argv) { return words::run(argc, argv, PROGRAM, WIDTH, make); }
