/** The HTTP/2 connection in a tunnel. Both ends are Windlass, so limits against hostile peers do not apply; limits of callers are those of the server. */

/** Calls of one runtime at the same time. */
export const MAX_STREAMS = 1_000

/**
 * Bytes that a sender may be ahead of a receiver, for one call. A larger window lets one download fill the buffers of the network before other calls; a smaller
 * one limits its speed to the window per round trip. Measured in ADR 0125.
 */
const STREAM_WINDOW = 256 * 1024
/** The same for all calls together. Node gives bytes back as soon as they arrive, so a receiver that does not read stops only its own call. */
export const CONNECTION_WINDOW = 16 * 1024 * 1024

const MAX_HEADER_LIST = 256 * 1024

export const SESSION_OPTIONS = {
  // Megabytes. Windows and queues of all calls count, and a session above it resets calls.
  maxSessionMemory: 1_024,
  maxHeaderListPairs: 2_000,
  maxSendHeaderBlockLength: MAX_HEADER_LIST,
  settings: {
    enableConnectProtocol: true,
    initialWindowSize: STREAM_WINDOW,
    maxConcurrentStreams: MAX_STREAMS,
    maxHeaderListSize: MAX_HEADER_LIST,
  },
} as const

/** Callers that leave reset their calls, and callers can send what HTTP/2 forbids. The defaults of nghttp2 and Node would close the whole tunnel. */
export const RESETS = { streamResetBurst: 1_000_000, streamResetRate: 100_000, maxSessionInvalidFrames: 2 ** 31 - 1 } as const
