// The entries of the step dialect and those of plan.proto have the same names.
#include "codegen/step/Step.h"
#include "runtime/plan.pb.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <set>

namespace shardc {
namespace {

using Names = std::set<std::string>;

/// The names of an entry op's operands, attributes and token.
Names namesOf(
    mlir::RegisteredOperationName op,
    const step::detail::EntryOpInterfaceInterfaceTraits::Concept &of) {
  Names names;
  for (llvm::StringRef operand : of.getOperandNames())
    names.insert(operand.str());
  for (mlir::StringAttr attribute : op.getAttributeNames())
    if (attribute != "operandSegmentSizes")
      names.insert(attribute.str());
  // MLIR does not keep the names of results: all that there are are tokens.
  if (op.getStringRef().ends_with("_start"))
    names.insert("token");
  return names;
}

Names fieldsOf(const google::protobuf::Descriptor &message) {
  Names names;
  for (int i = 0; i < message.field_count(); ++i)
    names.insert(message.field(i)->name());
  return names;
}

TEST(EmitEntries, OpsAndMessagesHaveTheSameNames) {
  mlir::MLIRContext context;
  context.loadDialect<step::StepDialect>();
  const google::protobuf::OneofDescriptor *kinds =
      plan::Entry::descriptor()->FindOneofByName("kind");
  Names messages, ops;
  for (int i = 0; i < kinds->field_count(); ++i)
    messages.insert(kinds->field(i)->name());
  for (mlir::RegisteredOperationName op : context.getRegisteredOperations()) {
    auto *entry = op.getInterface<step::EntryOpInterface>();
    if (!entry)
      continue;
    std::string kind = op.stripDialect().str();
    ops.insert(kind);
    SCOPED_TRACE(kind);
    const google::protobuf::FieldDescriptor *field =
        plan::Entry::descriptor()->FindFieldByName(kind);
    ASSERT_NE(field, nullptr);
    EXPECT_EQ(namesOf(op, *entry), fieldsOf(*field->message_type()));
  }
  EXPECT_EQ(ops, messages);
}

TEST(EmitEntries, EveryKindSaysWhatSortOfWorkItIs) {
  const google::protobuf::OneofDescriptor *kinds =
      plan::Entry::descriptor()->FindOneofByName("kind");
  for (int i = 0; i < kinds->field_count(); ++i)
    EXPECT_NE(kinds->field(i)->options().GetExtension(plan::work), "")
        << kinds->field(i)->name();
}

} // namespace
} // namespace shardc
