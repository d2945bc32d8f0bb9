/** The file with the acknowledged positions of events and streams. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { Clock } from '@windlass/kit'
import { isNoSpace } from './record.ts'

export interface Acks {
  /** Number of the last acknowledged event. */
  readonly events: number
  /** By stream, the end of the acknowledged bytes. */
  readonly streams: Readonly<Record<string, number>>
}

interface AckFileOptions {
  readonly path: string
  readonly clock: Clock
  /** Returns what to save. */
  readonly current: () => Acks
}

const SAVE_EVERY_MS = 1_000

export class AckFile {
  readonly #options: AckFileOptions
  #savedAt = -Infinity

  constructor(options: AckFileOptions) {
    this.#options = options
  }

  /** Saves at most once a second: a rename waits for other writers of the disk (2 ms and more). */
  saveSoon(): void {
    const now = this.#options.clock.monotonic()
    if (now - this.#savedAt < SAVE_EVERY_MS) return
    this.#savedAt = now
    this.save()
  }

  /** Replaces the file without syncing it, because its loss only means that some data is sent again. Keeps the old file on a full disk. */
  save(): void {
    const { path, current } = this.#options
    try {
      writeFileSync(`${path}.new`, JSON.stringify(current()))
      renameSync(`${path}.new`, path)
    } catch (error) {
      if (!isNoSpace(error)) throw error
    }
  }

  /** Reads what an earlier process saved. Nothing is acknowledged without a valid file. */
  read(): Acks {
    let saved: unknown
    try {
      saved = JSON.parse(readFileSync(this.#options.path, 'utf8'))
    } catch {
      saved = undefined
    }
    if (typeof saved !== 'object' || saved === null) return { events: 0, streams: {} }
    const events = 'events' in saved && typeof saved.events === 'number' ? saved.events : 0
    const found = 'streams' in saved && typeof saved.streams === 'object' && saved.streams !== null ? saved.streams : {}
    const streams = Object.entries(found).filter((entry): entry is [string, number] => typeof entry[1] === 'number')
    return { events, streams: Object.fromEntries(streams) }
  }
}
