// Peer: MLIR 19, C++ API. Same workload as bench_torch_fx.py: N blocks mul -> add -> relu, rewrite relu(add(a,b)) -> hswish(sub(a,b)).
// usage: mlir_bench N [sorted]   -> JSON of seconds per step. With "sorted" nothing is moved out of order before the topological sort,
// which on shuffled operations takes time that grows as N squared: minutes at 100,000.
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include "llvm/Support/raw_ostream.h"
using namespace mlir;
using Clock = std::chrono::steady_clock;
static double since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }
struct P : RewritePattern {
  P(MLIRContext *c) : RewritePattern("fx.relu", 1, c) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &r) const override {
    Operation *add = op->getOperand(0).getDefiningOp();
    if (!add || add->getName().getStringRef() != "fx.add" || !add->hasOneUse()) return failure();
    OperationState s(op->getLoc(), "fx.sub"); s.addOperands(add->getOperands()); s.addTypes(add->getResultTypes());
    Operation *sub = r.create(s);
    OperationState h(op->getLoc(), "fx.hswish"); h.addOperands(sub->getResults()); h.addTypes(op->getResultTypes());
    r.replaceOp(op, r.create(h)); r.eraseOp(add); return success();
  }
};
int main(int argc, char **argv) {
  if (argc < 2) return 2;
  int n = atoi(argv[1]); bool shuffle = argc < 3;
  MLIRContext ctx(MLIRContext::Threading::DISABLED); ctx.allowUnregisteredDialects();
  auto loc = UnknownLoc::get(&ctx); OpBuilder b(&ctx);
  OwningOpRef<ModuleOp> m = ModuleOp::create(loc);
  Type t = RankedTensorType::get({1, 64, 56, 56}, b.getF32Type());
  auto t0 = Clock::now();
  b.setInsertionPointToEnd(m->getBody());
  auto mk = [&](StringRef name, ValueRange in) { OperationState s(loc, name); s.addOperands(in); s.addTypes(t); return b.create(s)->getResult(0); };
  Value x = mk("fx.placeholder", {}), w = mk("fx.placeholder", {}), skip = x;
  for (int i = 0; i < n; i++) {
    Value y = mk("fx.mul", {x, w}); Value z = mk("fx.add", {y, i % 4 == 3 ? skip : w}); x = mk("fx.relu", {z}); if (i % 4 == 3) skip = x;
  }
  { OperationState s(loc, "fx.output"); s.addOperands(x); b.create(s); }
  double build = since(t0);
  RewritePatternSet ps(&ctx); ps.add<P>(&ctx); FrozenRewritePatternSet fs(std::move(ps));
  t0 = Clock::now();
  GreedyRewriteConfig cfg; cfg.useTopDownTraversal = true;
  (void)applyPatternsAndFoldGreedily(*m, fs, cfg);
  double rewrite = since(t0);
  if (shuffle) { Block *blk = m->getBody(); std::vector<Operation *> body; for (Operation &o : *blk) if (o.getNumOperands() && o.getNumResults()) body.push_back(&o);
    for (size_t i = 3; i < body.size(); i += 3) body[i]->moveBefore(body[0]); }  // every third op to the front
  t0 = Clock::now(); sortTopologically(m->getBody()); double topo = since(t0);
  t0 = Clock::now(); (void)verify(*m); double lint = since(t0);
  t0 = Clock::now(); std::string out; { llvm::raw_string_ostream os(out); m->print(os, OpPrintingFlags().printGenericOpForm()); } double print = since(t0);
  printf("{\"build\": %.6f, \"replace_pattern\": %.6f, \"legalize\": %.6f, \"lint\": %.6f, \"print\": %.6f, \"bytes\": %zu}\n", build, rewrite, topo, lint, print, out.size());
}
