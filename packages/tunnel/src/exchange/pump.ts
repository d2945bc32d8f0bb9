import { Transform, type Duplex, type Readable, type Writable } from 'node:stream'

export interface PumpOptions {
  readonly onBytes: (bytes: number) => void
  /** Milliseconds to wait after a chunk of this size. */
  readonly pauseFor?: ((bytes: number) => number) | undefined
}

/**
 * Copies `from` to `to`, which stays open. Resolves when `from` has ended, and when `to` was complete before, as after an answer without a body. Rejects if either
 * breaks.
 */
export function pump(from: Readable, to: Writable, { onBytes, pauseFor }: PumpOptions): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const source = pauseFor === undefined ? from : from.pipe(slowed(pauseFor))
  source.on('data', (chunk: Buffer) => onBytes(chunk.length))
  source.once('end', resolve)
  from.on('error', reject)
  from.once('close', () => {
    if (!from.readableEnded) reject(new Error('the sender left'))
  })
  to.on('error', reject)
  to.once('close', () => (to.writableFinished ? resolve() : reject(new Error('the receiver left'))))
  source.pipe(to, { end: false })
  return promise
}

function slowed(pauseFor: (bytes: number) => number): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const ms = pauseFor(chunk.length)
      if (ms <= 0) done(null, chunk)
      else setTimeout(() => done(null, chunk), ms)
    },
  })
}

export interface JoinOptions {
  /** Called for bytes that `one` reads, and for those that `other` reads. */
  readonly onRead: (bytes: number) => void
  readonly onWrite: (bytes: number) => void
}

/** Connects two streams in both directions. Resolves when both are closed. What one has received is still sent to the other after it has ended. */
export async function join(one: Duplex, other: Duplex, { onRead, onWrite }: JoinOptions): Promise<void> {
  one.on('data', (chunk: Buffer) => onRead(chunk.length))
  other.on('data', (chunk: Buffer) => onWrite(chunk.length))
  one.pipe(other)
  other.pipe(one)
  await Promise.all([follow(one, other), follow(other, one)])
}

/** Closes `peer` when `stream` is closed. */
function follow(stream: Duplex, peer: Duplex): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const close = (): void => {
    if (!peer.destroyed && stream.readableEnded) peer.end(() => peer.destroy())
    else peer.destroy()
    resolve()
  }
  // Its error is the reason why it closes.
  stream.on('error', () => stream.destroy())
  if (stream.closed) close()
  else stream.once('close', close)
  return promise
}
