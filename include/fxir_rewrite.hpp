/* fxir for C++17: what takes the place of a pattern, and sets of such rules. Include fxir.hpp.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef FXIR_REWRITE_HPP
#define FXIR_REWRITE_HPP

#include "fxir.hpp"

#include <memory>
#include <optional>

namespace fxir {

/* Gives what is to take the place of a match; without a module the match stays as it is. */
using BuildReplacement = std::function<std::optional<Module>(ModuleView, MatchesView)>;
/* Tells what is known of a node of a replacement, on that. */
using FillInMeta = std::function<void(Module &replacement, Node)>;

/* What takes the place of a pattern, and how; see fxir_rewrite_options. Functions may throw. */
struct RewriteOptions {
    MatchOptions match;
    /* For every match; nullptr: `build` is asked. */
    const ModuleView *replacement = nullptr;
    BuildReplacement build;
    /* FXIR_MEMBERS_* */
    std::int32_t members = FXIR_MEMBERS_KEEP;
    /* By the target of the nodes that it tells of. */
    std::vector<std::pair<std::string, FillInMeta>> meta_functions;
};

namespace detail {

/* The options for C; does not move, as C points to it. */
class Rewriting {
public:
    explicit Rewriting(RewriteOptions options, Carrier *carrier = nullptr)
        : options_(std::move(options)), matching_(options_.match, carrier) {
        fxir_rewrite_options_init(&raw_);
        raw_.match_options = matching_.raw();
        raw_.replacement = options_.replacement ? options_.replacement->get() : nullptr;
        if (options_.build) raw_.build = build;
        raw_.build_data = this;
        raw_.members = options_.members;
        for (const auto &[target, function] : options_.meta_functions) asked_.push_back({this, &function});
        for (Asked &asked : asked_) {
            const std::string &target = options_.meta_functions[meta_.size()].first;
            meta_.push_back({text(target), fill_in, &asked});
        }
        raw_.meta_functions = meta_.data();
        raw_.meta_function_count = meta_.size();
    }
    Rewriting(const Rewriting &) = delete;
    Rewriting &operator=(const Rewriting &) = delete;

    const fxir_rewrite_options *raw() const { return &raw_; }

private:
    struct Asked {
        Rewriting *rewriting;
        const FillInMeta *function;
    };

    static std::int32_t build(void *data, const fxir_module *module, const fxir_matches *matches,
                              fxir_module **replacement) {
        Rewriting &now = *static_cast<Rewriting *>(data);
        return now.matching_.carrier().run([&] {
            std::optional<Module> built = now.options_.build(ModuleView(module), MatchesView(matches));
            if (built) *replacement = built->release();
        });
    }
    static std::int32_t fill_in(void *data, fxir_module *replacement, fxir_node node) {
        const Asked &asked = *static_cast<Asked *>(data);
        Module borrowed(replacement);
        const std::int32_t code =
            asked.rewriting->matching_.carrier().run([&] { (*asked.function)(borrowed, Node(node)); });
        borrowed.release();
        return code;
    }

    RewriteOptions options_;
    Matching matching_;
    std::vector<Asked> asked_;
    std::vector<fxir_meta_function> meta_;
    fxir_rewrite_options raw_;
};

}  // namespace detail

inline Matches Module::replace_pattern_with(const ModuleView &pattern, const RewriteOptions &options) {
    detail::Carrier carrier;
    const detail::Rewriting with(options, &carrier);
    Matches found;
    fxir_error *error = nullptr;
    const fxir_status status = fxir_replace_pattern_with(get(), pattern.get(), with.raw(), found.out(), &error);
    carrier.finish(status, error);
    return found;
}

/* Rules that are applied together; see fxir_pattern_set. */
class PatternSet {
public:
    PatternSet() { detail::call(fxir_pattern_set_new, owner_.out()); }
    fxir_pattern_set *get() const noexcept { return owner_.get(); }
    std::size_t size() const { return fxir_pattern_set_count(get()); }

    /* Gives the rule's number. The set keeps the functions of the options. */
    std::size_t add(const ModuleView &pattern, RewriteOptions options) {
        auto kept = std::make_unique<detail::Rewriting>(std::move(options));
        std::size_t rule = 0;
        detail::call(fxir_pattern_set_add, get(), pattern.get(), kept->raw(), destroy, kept.get(), &rule);
        kept.release();
        return rule;
    }
    std::size_t add(const ModuleView &pattern, const ModuleView &replacement, MatchOptions match = {}) {
        RewriteOptions options;
        options.match = std::move(match);
        options.replacement = &replacement;
        return add(pattern, std::move(options));
    }

    /* Once; gives what each rule did. */
    std::vector<Matches> apply(Module &module) const {
        return run([&](fxir_matches **matches, std::size_t count, fxir_error **error) {
            return fxir_pattern_set_apply(get(), module.get(), matches, count, error);
        });
    }
    /* Until none matches any more; throws FXIR_LIMIT after `limit` rounds. `rounds`, if given, gets how often
     * something was replaced. */
    std::vector<Matches> apply_to_fixpoint(Module &module, std::size_t limit, std::size_t *rounds = nullptr) const {
        return run([&](fxir_matches **matches, std::size_t count, fxir_error **error) {
            return fxir_pattern_set_apply_to_fixpoint(get(), module.get(), limit, matches, count, rounds, error);
        });
    }

private:
    static void destroy(void *data) { delete static_cast<detail::Rewriting *>(data); }

    /* Calls `call(where matches go, how many, &error)`; what the rules' functions throw comes out. */
    template <class Call>
    std::vector<Matches> run(Call call) const {
        std::vector<fxir_matches *> raw(size());
        std::vector<Matches> found(raw.size());
        detail::Carrier carrier;
        detail::Carrier *const outer = std::exchange(detail::Carrier::applying(), &carrier);
        fxir_error *error = nullptr;
        const fxir_status status = call(raw.data(), raw.size(), &error);
        detail::Carrier::applying() = outer;
        carrier.finish(status, error);
        for (std::size_t rule = 0; rule < raw.size(); rule++) found[rule] = Matches(raw[rule]);
        return found;
    }

    detail::Owner<fxir_pattern_set, fxir_pattern_set_free> owner_;
};

}  // namespace fxir

#endif /* FXIR_REWRITE_HPP */
