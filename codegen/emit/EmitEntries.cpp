// The entries of a step.program as messages: an op's operands, attributes and
// results go to the fields that have their names.
#include "codegen/emit/EmitEntries.h"

#include "codegen/step/EntryNames.h"
#include "codegen/step/Liveness.h"
#include "codegen/step/View.h"
#include "google/protobuf/message.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace shardc {

plan::DType dtypeOf(Type type) {
  return llvm::TypeSwitch<Type, plan::DType>(type)
      .Case([](Float32Type) { return plan::FLOAT32; })
      .Case([](Float64Type) { return plan::FLOAT64; })
      .Case([](BFloat16Type) { return plan::BFLOAT16; })
      .Case([](Float16Type) { return plan::FLOAT16; })
      .Case([](IntegerType integer) {
        switch (integer.getWidth()) {
        case 64:
          return integer.isUnsigned() ? plan::UINT64 : plan::INT64;
        case 32:
          return integer.isUnsigned() ? plan::UINT32 : plan::INT32;
        case 16:
          return integer.isUnsigned() ? plan::UINT16 : plan::INT16;
        case 8:
          return integer.isUnsigned() ? plan::UINT8 : plan::INT8;
        case 1:
          return plan::BOOL;
        default:
          return plan::INVALID;
        }
      })
      .Default(plan::INVALID);
}

void emitTensor(Value value, const PlanIndices &indices, plan::Tensor *tensor) {
  step::View view = step::View::of(value);
  tensor->set_buffer(indices.buffers.lookup(view.buffer.getDefiningOp()));
  tensor->set_offset(view.offset);
  tensor->set_dtype(dtypeOf(view.elementType));
  for (int64_t size : view.shape)
    tensor->add_shape(size);
  if (!cast<MemRefType>(value.getType()).getLayout().isIdentity())
    for (int64_t stride : view.strides)
      tensor->add_strides(stride);
}

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

/// Fills one message from one op.
class FieldWriter {
public:
  FieldWriter(Message &message, const PlanIndices &indices,
              llvm::DenseMap<Value, uint32_t> &tokens)
      : message(message), reflection(*message.GetReflection()),
        indices(indices), tokens(tokens) {}

  llvm::Error write(step::EntryOpInterface op);

private:
  /// The field called `name`; an error where there is none.
  llvm::Error find(StringRef name, const FieldDescriptor *&field);
  void operand(const FieldDescriptor *field, Value value);
  /// Whether the attribute has a form that the field can hold.
  bool attribute(const FieldDescriptor *field, Attribute attribute);
  bool number(const FieldDescriptor *field, int64_t value);
  bool index(const FieldDescriptor *field, StringRef symbol);
  bool array(const FieldDescriptor *field, Attribute attribute);
  void map(const FieldDescriptor *field, DictionaryAttr numbers);

  Message &message;
  const google::protobuf::Reflection &reflection;
  const PlanIndices &indices;
  llvm::DenseMap<Value, uint32_t> &tokens;
};

llvm::Error FieldWriter::find(StringRef name, const FieldDescriptor *&field) {
  field = message.GetDescriptor()->FindFieldByName(name.str());
  if (field)
    return llvm::Error::success();
  return llvm::createStringError("plan.proto's " +
                                 message.GetDescriptor()->name() +
                                 " has no field " + name);
}

llvm::Error FieldWriter::write(step::EntryOpInterface op) {
  const FieldDescriptor *field = nullptr;
  for (auto [index, name] : llvm::enumerate(op.getOperandNames()))
    for (Value value : op.getOperandsNamed(index)) {
      if (llvm::Error error = find(name, field))
        return error;
      operand(field, value);
    }
  for (NamedAttribute named : op->getAttrs()) {
    StringRef name = named.getName();
    // What an entry says besides, step.unit and the like, is not the message's.
    if (name.contains('.') || name == "operandSegmentSizes")
      continue;
    if (llvm::Error error = find(name, field))
      return error;
    if (attribute(field, named.getValue()))
      continue;
    if (auto symbol = dyn_cast<SymbolRefAttr>(named.getValue()))
      return llvm::createStringError("the plan has no " + name + " '" +
                                     symbol.getLeafReference().getValue() +
                                     "'");
    return llvm::createStringError("plan.proto's " + field->full_name() +
                                   " cannot hold what the op has there");
  }
  // A collective's token is its number in the program.
  for (OpResult result : op->getResults()) {
    if (llvm::Error error = find("token", field))
      return error;
    uint32_t token = tokens.size();
    tokens[result] = token;
    reflection.SetUInt32(&message, field, token);
  }
  return llvm::Error::success();
}

void FieldWriter::operand(const FieldDescriptor *field, Value value) {
  if (isa<step::TokenType>(value.getType()))
    return reflection.SetUInt32(&message, field, tokens.lookup(value));
  if (isa<step::BufferType>(value.getType()))
    return reflection.SetUInt32(&message, field,
                                indices.buffers.lookup(value.getDefiningOp()));
  Message *tensor = field->is_repeated()
                        ? reflection.AddMessage(&message, field)
                        : reflection.MutableMessage(&message, field);
  emitTensor(value, indices, static_cast<plan::Tensor *>(tensor));
}

bool FieldWriter::attribute(const FieldDescriptor *field, Attribute attribute) {
  if (isa<UnitAttr>(attribute))
    return number(field, 1);
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return number(field, integer.getInt());
  if (auto symbol = dyn_cast<SymbolRefAttr>(attribute))
    return index(field, symbol.getLeafReference());
  if (auto real = dyn_cast<FloatAttr>(attribute);
      real && field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE)
    return reflection.SetDouble(&message, field, real.getValueAsDouble()), true;
  if (auto text = dyn_cast<StringAttr>(attribute);
      text && field->cpp_type() == FieldDescriptor::CPPTYPE_STRING)
    return reflection.SetString(&message, field, text.str()), true;
  if (auto numbers = dyn_cast<DictionaryAttr>(attribute);
      numbers && field->is_map())
    return map(field, numbers), true;
  return array(field, attribute);
}

bool FieldWriter::number(const FieldDescriptor *field, int64_t value) {
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL)
    return reflection.SetBool(&message, field, value != 0), true;
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT64)
    return reflection.SetInt64(&message, field, value), true;
  return false;
}

bool FieldWriter::index(const FieldDescriptor *field, StringRef symbol) {
  const llvm::StringMap<uint32_t> *of =
      llvm::StringSwitch<const llvm::StringMap<uint32_t> *>(field->name())
          .Case("kernel", &indices.kernels)
          .Cases("unit", "units", &indices.units)
          .Case("group", &indices.groups)
          .Default(nullptr);
  if (!of || !of->contains(symbol))
    return false;
  uint32_t found = of->lookup(symbol);
  field->is_repeated() ? reflection.AddUInt32(&message, field, found)
                       : reflection.SetUInt32(&message, field, found);
  return true;
}

bool FieldWriter::array(const FieldDescriptor *field, Attribute attribute) {
  if (!field->is_repeated())
    return false;
  if (auto integers = dyn_cast<DenseI64ArrayAttr>(attribute);
      integers && field->cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
    for (int64_t value : integers.asArrayRef())
      reflection.AddInt64(&message, field, value);
    return true;
  }
  if (auto names = dyn_cast<ArrayAttr>(attribute))
    return llvm::all_of(names, [&](Attribute name) {
      auto symbol = dyn_cast<SymbolRefAttr>(name);
      return symbol && index(field, symbol.getLeafReference());
    });
  if (auto flags = dyn_cast<DenseBoolArrayAttr>(attribute);
      flags && field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
    for (bool value : flags.asArrayRef())
      reflection.AddBool(&message, field, value);
    return true;
  }
  return false;
}

void FieldWriter::map(const FieldDescriptor *field, DictionaryAttr numbers) {
  // To reflection a map is a repeated message of keys and values.
  const FieldDescriptor *key = field->message_type()->map_key(),
                        *value = field->message_type()->map_value();
  for (NamedAttribute number : numbers) {
    Message *entry = reflection.AddMessage(&message, field);
    const google::protobuf::Reflection *of = entry->GetReflection();
    of->SetString(entry, key, number.getName().str());
    of->SetInt64(entry, value, cast<IntegerAttr>(number.getValue()).getInt());
  }
}

/// The entries of one program.
class EntryEmitter {
public:
  explicit EntryEmitter(const PlanIndices &indices) : indices(indices) {}
  llvm::Error emit(step::EntryOpInterface op, plan::Entry *entry);

private:
  void describe(Operation *op, plan::Entry *entry);

  const PlanIndices &indices;
  llvm::DenseMap<Value, uint32_t> tokens;
  step::EntryNames names;
};

void EntryEmitter::describe(Operation *op, plan::Entry *entry) {
  entry->set_unit(step::entryUnit(op).str());
  entry->set_phase(step::entryPhase(op).str());
  entry->set_last(op->hasAttr(step::lastAttr));
  entry->set_first(op->hasAttr(step::firstAttr));
  if (auto flops = op->getAttrOfType<IntegerAttr>(step::flopsAttr))
    entry->set_flops(flops.getInt());
  if (auto ranks = op->getAttrOfType<DenseI64ArrayAttr>(step::ranksAttr))
    for (int64_t rank : ranks.asArrayRef())
      entry->add_ranks(rank);
  for (StringRef node : step::entryNodes(op))
    entry->add_nodes(node.str());
  entry->set_name(names.next(op));
}

llvm::Error EntryEmitter::emit(step::EntryOpInterface op, plan::Entry *entry) {
  describe(op, entry);
  std::string kind = step::entryKind(op);
  const FieldDescriptor *field = entry->GetDescriptor()->FindFieldByName(kind);
  if (!field)
    return llvm::createStringError("plan.proto's Entry has no kind " + kind);
  Message *message = entry->GetReflection()->MutableMessage(entry, field);
  return FieldWriter(*message, indices, tokens).write(op);
}

} // namespace

llvm::Error emitProgram(step::ProgramOp program, const PlanIndices &indices,
                        plan::Program *message) {
  EntryEmitter emitter(indices);
  for (Operation &op : program.getBody().front())
    if (step::isEntry(&op))
      if (llvm::Error error = emitter.emit(cast<step::EntryOpInterface>(op),
                                           message->add_entries()))
        return error;
  return llvm::Error::success();
}

} // namespace shardc
