// Search: an input is three terms, the answer the ten best of all passages (TailBench's xapian, P4).
//
//   sojourn-xapian --index PASSAGES --data DIR    makes DIR/index of a file, a passage each line
//   sojourn-xapian --data DIR …                   serves
#include <xapian.h>

#include <iterator>
#include <sstream>

#include "front.hpp"

namespace {

constexpr Xapian::doccount BEST = 10;
constexpr int TEXT_BYTES = 80;   // of a passage, in an answer
constexpr size_t WIDTH = BEST * (8 + 1 + 9 + 1 + TEXT_BYTES + 1);
constexpr const char *PROGRAM = "sojourn-xapian 1 (xapian " XAPIAN_VERSION ")";

class Search : public words::Desk {
public:
    explicit Search(const std::string &path) : database_(path) {
        if (database_.get_doccount() == 0)
            throw words::Fault("the index is empty", path, "sojourn install xapian makes it anew");
    }

    // Xapian's errors are no std::exception: they become one, so that they are a status 500.
    std::string answer(const std::string &input) override {
        try {
            return best(input);
        } catch (const Xapian::Error &error) {
            throw std::runtime_error("the index fails: " + error.get_msg());
        }
    }

private:
    Xapian::Database database_;

    std::string best(const std::string &input) const {
        std::istringstream terms(input);
        const std::istream_iterator<std::string> first(terms), last;
        Xapian::Enquire enquire(database_);
        enquire.set_query(Xapian::Query(Xapian::Query::OP_OR, first, last));
        std::string text;
        const Xapian::MSet found = enquire.get_mset(0, BEST);
        for (Xapian::MSetIterator one = found.begin(); one != found.end(); ++one) {
            char line[160];
            snprintf(line, sizeof line, "%8u %9.4f %-*.*s ", *one, one.get_weight(), TEXT_BYTES,
                     TEXT_BYTES, one.get_document().get_data().c_str());
            text += line;
        }
        if (text.empty())
            throw std::runtime_error("nothing is found of: " + input);
        return text;
    }
};

// Words of a passage stand apart by spaces and are its terms as they are.
void index(const std::string &passages, const std::string &path) {
    Xapian::WritableDatabase database(path, Xapian::DB_CREATE_OR_OVERWRITE);
    for (const std::string &passage : words::lines_of(passages)) {
        Xapian::Document document;
        std::istringstream terms(passage);
        for (std::string term; terms >> term;)
            document.add_term(term);
        document.set_data(passage.substr(0, TEXT_BYTES));
        database.add_document(document);
    }
    database.commit();
}

std::unique_ptr<words::Desk> make(const words::Settings &settings, unsigned) {
    const std::string path = settings.data + "/index";
    try {
        return std::make_unique<Search>(path);
    } catch (const Xapian::Error &error) {
        throw words::Fault("the index cannot be read: " + error.get_msg(), path,
                           "sojourn install xapian makes it anew");
    }
}

} // namespace

int main(int argc, char **argv) {
    if (argc == 5 && std::string(argv[1]) == "--index") {
        try {
            index(argv[2], std::string(argv[4]) + "/index");
            return 0;
        } catch (const Xapian::Error &error) {
            std::cerr << "error: no index can be made: " << error.get_msg() << std::endl;
        } catch (const std::exception &error) {
            std::cerr << error.what() << std::endl;
        }
        return 1;
    }
    return words::run(argc, argv, PROGRAM, WIDTH, make);
}
