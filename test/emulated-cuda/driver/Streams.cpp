// Calls about streams and events.
#include "Api.h"
#include "Mutant.h"

namespace shardc::test::cuda {

// Numbers that the runtime has no name for.
static constexpr CUresult capturedEvent = 907; // CUDA_ERROR_CAPTURED_EVENT

/// With driverMutex held.
static CUresult usable(Context &context, CUevent event) {
  return event && isLive(event) && event->context == &context
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_HANDLE;
}

/// Whether a mutant leaves the call out.
static bool isDropped(const char *call, const std::string &behind,
                      bool inCapture = false) {
  return hasMutant() &&
         isMutated("drop",
                   describeCall(call + (" behind " + behind), inCapture));
}

/// Of an event whose time or end the host asks for.
static CUresult askable(Context &context, CUevent event) {
  if (CUresult result = usable(context, event); result != CUDA_SUCCESS)
    return result;
  if (breaksCapture())
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (!event->capture)
    return CUDA_SUCCESS;
  event->capture->invalid = true;
  return capturedEvent;
}

} // namespace shardc::test::cuda

namespace shardc::cuda {
using namespace shardc::test::cuda;
using shardc::test::cuda::usable;

extern "C" {

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags,
                                    int priority) {
  SHARDC_ENTER;
  // Others wait for the legacy default stream, which nobody uses here.
  if (flags != CU_STREAM_NON_BLOCKING)
    finding("cuStreamCreateWithPriority without CU_STREAM_NON_BLOCKING makes a "
            "stream that waits for the legacy default stream");
  std::lock_guard lock(driverMutex);
  *stream = made(new CUstream_st(*context));
  context->streams.insert(*stream);
  return CUDA_SUCCESS;
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  SHARDC_ENTER;
  {
    std::lock_guard lock(driverMutex);
    if (CUresult result = usable(*context, stream); result != CUDA_SUCCESS)
      return result;
    if (stream->capture) {
      stream->capture->invalid = true;
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    context->streams.erase(stream);
  }
  stream->finish();
  std::lock_guard lock(driverMutex);
  destroyed(stream);
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream) {
  SHARDC_ENTER;
  std::shared_ptr<Record> record;
  {
    std::lock_guard lock(driverMutex);
    if (CUresult result = usable(*context, stream); result != CUDA_SUCCESS)
      return result;
    if (isDropped("cuStreamSynchronize", stream->last, bool(stream->capture)))
      return CUDA_SUCCESS;
    if (stream->capture)
      stream->capture->invalid = true;
    if (stream->capture || breaksCapture())
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    record = stream->record();
  }
  awaitOnHost(*record);
  return context->error;
}

CUresult cuStreamQuery(CUstream stream) {
  SHARDC_ENTER;
  std::lock_guard lock(driverMutex);
  if (CUresult result = usable(*context, stream); result != CUDA_SUCCESS)
    return result;
  if (stream->capture)
    stream->capture->invalid = true;
  if (stream->capture || breaksCapture())
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (!stream->isIdle())
    return CUDA_ERROR_NOT_READY;
  hostKnows(stream->clock);
  return context->error;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  SHARDC_ENTER;
  std::lock_guard lock(driverMutex);
  if (CUresult result = usable(*context, stream); result != CUDA_SUCCESS)
    return result;
  // An event may be another device's.
  if (!event || !isLive(event))
    return CUDA_ERROR_INVALID_HANDLE;
  if (flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (isDropped("cuStreamWaitEvent", event->behind, bool(event->capture)))
    return CUDA_SUCCESS;
  std::shared_ptr<Capture> own = stream->capture, other = event->capture;
  if (own && own->invalid)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!own && !other) {
    if (event->record)
      stream->await(event->record);
    return CUDA_SUCCESS;
  }
  if (other && !other->origin.capture)
    return CUDA_ERROR_INVALID_VALUE; // what it stood for is in a graph
  if (!other && !event->record)
    return CUDA_SUCCESS;
  if (!other || (own && own != other)) {
    own->invalid = true;
    if (other)
      other->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (other->invalid)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  stream->capture = other;
  other->join(*stream, event->nodes);
  return CUDA_SUCCESS;
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *userData) {
  SHARDC_ENTER;
  if (!function)
    return CUDA_ERROR_INVALID_VALUE;
  return submit(
      *context, stream,
      std::make_shared<Action>(Action{"cuLaunchHostFunc", {}, [=](Running &) {
                                        function(userData);
                                        return CUDA_SUCCESS;
                                      }}));
}

CUresult cuEventCreate(CUevent *event, unsigned flags) {
  SHARDC_ENTER;
  if (flags & ~unsigned(CU_EVENT_DISABLE_TIMING))
    return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard lock(driverMutex);
  *event = made(new CUevent_st);
  (*event)->context = context;
  (*event)->timed = !(flags & CU_EVENT_DISABLE_TIMING);
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent event) {
  SHARDC_ENTER;
  std::lock_guard lock(driverMutex);
  if (CUresult result = usable(*context, event); result != CUDA_SUCCESS)
    return result;
  destroyed(event);
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  SHARDC_ENTER;
  std::lock_guard lock(driverMutex);
  if (CUresult result = usable(*context, stream); result != CUDA_SUCCESS)
    return result;
  if (CUresult result = usable(*context, event); result != CUDA_SUCCESS)
    return result;
  if (isDropped("cuEventRecord", stream->last, bool(stream->capture)))
    return CUDA_SUCCESS;
  event->behind = stream->last;
  if (!stream->capture) {
    event->capture = nullptr;
    event->record = stream->record();
    return CUDA_SUCCESS;
  }
  if (stream->capture->invalid)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  event->record = nullptr;
  event->capture = stream->capture;
  event->nodes = stream->capture->ends(*stream);
  return CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent event) {
  SHARDC_ENTER;
  std::lock_guard lock(driverMutex);
  if (CUresult result = askable(*context, event); result != CUDA_SUCCESS)
    return result;
  if (event->record) {
    if (!event->record->done)
      return CUDA_ERROR_NOT_READY;
    hostKnows(event->record->clock);
  }
  return context->error;
}

CUresult cuEventSynchronize(CUevent event) {
  SHARDC_ENTER;
  std::shared_ptr<Record> record;
  {
    std::lock_guard lock(driverMutex);
    if (CUresult result = askable(*context, event); result != CUDA_SUCCESS)
      return result;
    if (isDropped("cuEventSynchronize", event->behind))
      return CUDA_SUCCESS;
    record = event->record;
  }
  if (record)
    awaitOnHost(*record);
  return context->error;
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent begin, CUevent end) {
  SHARDC_ENTER;
  std::lock_guard lock(driverMutex);
  for (CUevent each : {begin, end})
    if (CUresult result = askable(*context, each); result != CUDA_SUCCESS)
      return result;
  if (!begin->timed || !end->timed || !begin->record || !end->record)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!begin->record->done || !end->record->done)
    return CUDA_ERROR_NOT_READY;
  *milliseconds = std::chrono::duration<float, std::milli>(end->record->time -
                                                           begin->record->time)
                      .count();
  return context->error;
}

} // extern "C"

} // namespace shardc::cuda
