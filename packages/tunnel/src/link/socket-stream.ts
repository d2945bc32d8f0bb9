/** The binary messages of a WebSocket as a stream of bytes, with backpressure in both directions. Text messages go to `onText`. */
import { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import { MAX_CONTROL } from '../protocol.ts'

/** Bytes that wait in the stream before its writer has to wait. */
const BUFFER = 65_536

/**
 * Returns the stream of an open WebSocket. It ends when the socket closes, and its destruction closes the socket at once. A text message that is too long
 * destroys it.
 */
export function openSocketStream(socket: WebSocket, onText: (text: string) => void): Duplex {
  const stream = new Duplex({
    readableHighWaterMark: BUFFER,
    writableHighWaterMark: BUFFER,
    read() {
      if (socket.isPaused) socket.resume()
    },
    write(chunk: Buffer, _encoding, done) {
      socket.send(chunk, done)
    },
    // HTTP/2 writes the head and the payload of each frame apart. One message has fewer bytes and system calls than several.
    writev(chunks, done) {
      socket.send(Buffer.concat(chunks.map(({ chunk }) => chunk as Buffer)), done)
    },
    final(done) {
      socket.close(1000)
      done()
    },
    destroy(error, done) {
      socket.terminate()
      done(error)
    },
  })
  socket.on('message', (data, isBinary) => {
    if (!Buffer.isBuffer(data)) return
    if (isBinary) {
      if (!stream.push(data)) socket.pause()
    } else if (data.length > MAX_CONTROL) stream.destroy(new Error('a control message is too long'))
    else onText(data.toString())
  })
  socket.on('error', (error) => stream.destroy(error))
  socket.on('close', () => {
    // What has arrived can still be read.
    if (!stream.destroyed) stream.push(null)
    stream.end()
  })
  return stream
}
