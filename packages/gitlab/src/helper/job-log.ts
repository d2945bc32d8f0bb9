/**
 * The log of a job on the volume of its pod. It has frames: a line `<microseconds> <kind> <length>`, then so many bytes and a line feed. A reader can begin at any frame, and
 * a frame that is not complete yet is read again later. Nothing of it is masked: the manager does that.
 */
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'

/** `work` is the output of the user's commands, `executor` what the helper says, `control` JSON for the manager, and `service-N` the output of a service. */
export type FrameKind = 'work' | 'executor' | 'control' | `service-${number}`

export interface Frame {
  readonly kind: FrameKind
  /** Microseconds since the epoch. */
  readonly at: number
  readonly bytes: Buffer
}

/** Longest frame. A longer output has several. Bytes. */
export const MAX_FRAME = 65_536

export interface JobLog {
  write(kind: FrameKind, bytes: Buffer): void
  /** Writes a control frame, and makes sure that it survives a crash of the node. */
  control(value: object): void
  close(): void
}

/** Opens the log for appending. `now` returns microseconds since the epoch. Throws system errors. */
export function openJobLog(path: string, now: () => number): JobLog {
  const file = openSync(path, 'a', 0o600)
  const append = (frame: Buffer): void => {
    for (let from = 0; from < frame.length;) from += writeSync(file, frame, from)
  }
  const write = (kind: FrameKind, bytes: Buffer): void => {
    for (let from = 0; from < bytes.length; from += MAX_FRAME)
      append(encodeFrame({ kind, at: now(), bytes: bytes.subarray(from, from + MAX_FRAME) }))
  }
  return {
    write,
    control(value) {
      write('control', Buffer.from(JSON.stringify(value)))
      fdatasyncSync(file)
    },
    close: () => closeSync(file),
  }
}

export function encodeFrame({ kind, at, bytes }: Frame): Buffer {
  return Buffer.concat([Buffer.from(`${Math.floor(at)} ${kind} ${bytes.length}\n`), bytes, Buffer.from('\n')])
}

const HEAD = /^(\d{1,17}) (work|executor|control|service-\d{1,3}) (\d{1,6})$/
/** Longest first line of a frame. Bytes. */
const MAX_HEAD = 40

/** Returns the number of the service of a frame; undefined for other kinds. */
export function serviceOf(kind: FrameKind): number | undefined {
  const [, number] = /^service-(\d+)$/.exec(kind) ?? []
  return number === undefined ? undefined : Number(number)
}

function kindOf(text: string | undefined): FrameKind | undefined {
  if (text === 'work' || text === 'executor' || text === 'control') return text
  return text === undefined ? undefined : `service-${Number(text.slice('service-'.length))}`
}

export interface ReadFrames {
  readonly frames: readonly Frame[]
  /** Number of bytes that the frames take. The rest belongs to a frame that is not complete. */
  readonly length: number
}

/** Reads the complete frames at the start of the bytes. Throws if these are not frames. */
export function decodeFrames(bytes: Buffer): ReadFrames {
  const frames: Frame[] = []
  let from = 0
  for (;;) {
    const end = bytes.indexOf(0x0a, from)
    if (end < 0 && bytes.length - from <= MAX_HEAD) return { frames, length: from }
    const head = HEAD.exec(bytes.toString('latin1', from, end < 0 ? from + MAX_HEAD : end))
    const kind = kindOf(head?.[2])
    if (head === null || kind === undefined) throw new Error(`the log of the job is damaged at byte ${from}`)
    const start = end + 1
    const length = Number(head[3])
    if (bytes.length < start + length + 1) return { frames, length: from }
    frames.push({ kind, at: Number(head[1]), bytes: bytes.subarray(start, start + length) })
    from = start + length + 1
  }
}
