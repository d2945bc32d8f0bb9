/** Lines that the manager adds to the trace of a job before its pod runs. They are stored first, so that a manager that adopts the job has them as well. */
import { attempt, type Clock, type Logger } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import { NOTES, type Note } from './job-record.ts'

export interface NotesOptions {
  /** Lines that managers have added so far. */
  readonly notes: readonly Note[]
  readonly kube: Pick<Kube, 'patch'>
  /** The Secret of the job. */
  readonly name: string
  readonly namespace: string
  readonly clock: Clock
  readonly log: Logger
  /** Aborted when the job has ended. */
  readonly signal: AbortSignal
  /** Writes a line to the trace. */
  readonly write: (note: Note) => void
}

export interface JobNotes {
  /** Adds a line. Resolves when it is stored, or cannot be. */
  add(text: string): Promise<void>
  /** Resolves when the last line is stored. */
  stored(): Promise<void>
}

/** Writes the lines so far, and returns the notes. */
export function openNotes({ kube, name, namespace, clock, log, signal, write, ...options }: NotesOptions): JobNotes {
  const notes = [...options.notes]
  let last: Promise<void> = Promise.resolve()
  for (const note of notes) write(note)

  async function store(text: string): Promise<void> {
    const note: Note = { at: clock.now() * 1_000, text: `${text}\n` }
    const annotations = { [NOTES]: JSON.stringify([...notes, note]) }
    await attempt(log, 'note', async () => {
      await kube.patch({ kind: 'Secret', name, namespace }, { metadata: { annotations } }, { signal })
      notes.push(note)
      if (!signal.aborted) write(note)
    })
  }

  return {
    add(text) {
      last = last.then(() => store(text))
      return last
    },
    stored: () => last,
  }
}
