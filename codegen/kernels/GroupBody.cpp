// Writes down the ops of a group.
#include "codegen/kernels/GroupBody.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace shardc::kernels {

namespace {
class Body {
public:
  Body(const OpGroup &group, const GroupSignature &signature)
      : builder(group.front()->getContext()) {
    for (Value input : signature.inputs)
      numbers.insert({input, int64_t(numbers.size())});
    for (Operation *op : group)
      add(op);
    for (Value output : signature.outputs)
      results.push_back(numbers.lookup(output));
  }

  DictionaryAttr get() {
    return builder.getDictionaryAttr(
        {builder.getNamedAttr("ops", builder.getArrayAttr(ops)),
         builder.getNamedAttr("results",
                              builder.getDenseI64ArrayAttr(results))});
  }

private:
  void add(Operation *op) {
    SmallVector<int64_t> operands;
    for (Value operand : op->getOperands()) {
      if (!numbers.contains(operand))
        add(operand.getDefiningOp());
      operands.push_back(numbers.lookup(operand));
    }
    SmallVector<NamedAttribute> attributes;
    for (NamedAttribute attribute : op->getAttrDictionary())
      if (!attribute.getName().getValue().contains('.'))
        attributes.push_back(attribute);
    SmallVector<Attribute> types;
    for (Value result : op->getResults()) {
      numbers.insert({result, int64_t(numbers.size())});
      types.push_back(TypeAttr::get(result.getType()));
    }
    StringRef name = op->getName().stripDialect();
    ops.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("attributes",
                              builder.getDictionaryAttr(attributes)),
         builder.getNamedAttr("name", builder.getStringAttr(name)),
         builder.getNamedAttr("operands",
                              builder.getDenseI64ArrayAttr(operands)),
         builder.getNamedAttr("results", builder.getArrayAttr(types))}));
  }

  Builder builder;
  llvm::DenseMap<Value, int64_t> numbers;
  SmallVector<Attribute> ops;
  SmallVector<int64_t> results;
};
} // namespace

DictionaryAttr groupBody(const OpGroup &group,
                         const GroupSignature &signature) {
  return Body(group, signature).get();
}

} // namespace shardc::kernels
