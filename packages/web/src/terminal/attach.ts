/** Attaches a screen to a terminal: shows its output by number, and sends what the user types. */
import { DetachKeys, KeySender } from '@windlass/client/terminal'
import { terminalStream, type TerminalEnd, type TerminalRecord } from '@windlass/protocol'
import { client } from '../server/client.ts'
import type { TerminalDocument } from './document.ts'
import { openSource, type OutputSource } from './frame.ts'
import type { TerminalNews, TerminalPlace } from './output.ts'
import type { Screen, Size } from './screen.ts'

export interface Attached {
  /** Keys, pasted text, and answers of the screen to questions of the program. */
  readonly onKeys: (bytes: Uint8Array) => void
  readonly onSize: (size: Size) => void
}

interface AttachOptions {
  readonly place: TerminalPlace
  readonly record: TerminalRecord
  /** Undefined if the user may type; otherwise the sentence that says why not. */
  readonly watchOnly: string | undefined
  readonly screen: Screen
  readonly page: TerminalDocument
}

const FIRST_PAUSE_MS = 200
const LONGEST_PAUSE_MS = 3_000
/** If no earlier output arrives for this long, it was all shown. Milliseconds. */
const STILL_MS = 500
/** The same before the stream is open. Milliseconds. */
const UNOPENED_MS = 10_000
/** A connection that returns within this time is not mentioned. Milliseconds. */
const UNNOTICED_MS = 1_000

const pause = (failures: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS)))

/** Follows an open terminal. */
export function attach({ place, record, watchOnly, screen, page }: AttachOptions): Attached {
  const over = new AbortController()
  const keys = new DetachKeys()
  const sender = new KeySender({
    client,
    buildId: place.build,
    terminal: place.terminal,
    inputSeq: record.inputSeq,
    signal: over.signal,
    pause,
    onRefused: (error) => page.say(error instanceof Error ? error.message : String(error), 'bad'),
  })
  const history = openHistory(record.outputSeq ?? 0)
  const connection = sayConnection(page, watchOnly)
  let sent: Size | undefined

  const sendSize = (size: Size): void => {
    if (watchOnly !== undefined || (sent?.columns === size.columns && sent.rows === size.rows)) return
    sent = size
    sender.resize(size)
  }
  const show = async (news: TerminalNews): Promise<void> => {
    switch (news.kind) {
      case 'output':
        await screen.write(news.bytes)
        history.note(news.seq)
        return sender.acknowledge(news.seq, news.bytes.length)
      case 'end':
        over.abort()
        connection.end()
        screen.setTypable(false)
        return page.say(describeEnd(news.end))
      case 'problem':
        over.abort()
        connection.end()
        return page.say(news.message, 'bad')
      case 'open':
        return history.open()
      case 'connection':
        return connection.note(news.isLive)
    }
  }
  const source: OutputSource = openSource(place, (news) => void show(news))
  screen.setTypable(watchOnly === undefined)
  connection.note(true)
  // Another page of the same user may have typed in the meantime. The screen that is looked at gives the size.
  addEventListener('focus', () => {
    if (watchOnly !== undefined || over.signal.aborted) return
    sender.recount(() => readInputSeq(place))
    sent = undefined
    sendSize(screen.size())
  })
  return {
    onKeys(bytes) {
      if (watchOnly !== undefined || over.signal.aborted || history.isShowing()) return
      const { keys: passed, isDetached } = keys.push(bytes)
      if (passed.length > 0) sender.press(passed)
      if (!isDetached) return
      screen.blur()
      if (source.leave()) return
      page.hint('You left the terminal. The step stays held. A click into it goes back.')
      page.screen.addEventListener('focusin', () => page.hint(undefined), { once: true })
    },
    onSize: sendSize,
  }
}

/** Shows the recording of a terminal that has ended. */
export async function replay(
  place: TerminalPlace,
  record: TerminalRecord,
  screen: Screen,
  page: TerminalDocument,
): Promise<void> {
  screen.setTypable(false)
  const bytes = await client.builds.logBytes(place.build, { query: { stream: terminalStream(place.terminal) } })
  for await (const part of bytes) await screen.write(part)
  const { exitCode, endedAt } = record
  const code = exitCode === undefined ? '' : ` with exit code ${exitCode}`
  page.say(`Recording. The terminal ended${code} at ${new Date(endedAt ?? record.createdAt).toLocaleString('en-GB')}.`)
}

async function readInputSeq({ build, terminal }: TerminalPlace): Promise<number> {
  const { terminals } = await client.debug.get(build)
  const record = terminals.find(({ id }) => id === terminal)
  if (record === undefined) throw new Error(`terminal ${terminal} is not listed`)
  return record.inputSeq
}

/**
 * Knows whether output is shown that was there before. The screen answers questions of programs, such as where the cursor is; another document has
 * answered those of earlier output, and a second answer would be typed into the shell.
 */
function openHistory(last: number): {
  readonly isShowing: () => boolean
  readonly open: () => void
  readonly note: (seq: number) => void
} {
  let isShowing = last > 0
  let timer: ReturnType<typeof setTimeout> | undefined
  const end = (): void => {
    isShowing = false
  }
  const endAfter = (ms: number): void => {
    clearTimeout(timer)
    if (isShowing) timer = setTimeout(end, ms)
  }
  endAfter(UNOPENED_MS)
  return {
    isShowing: () => isShowing,
    open: () => endAfter(STILL_MS * 4),
    note(seq) {
      if (seq >= last) end()
      // The numbers of parts without output are missing.
      endAfter(STILL_MS)
    },
  }
}

/** Says when the connection is lost for a moment, and what the user can do while it is not. */
function sayConnection(
  page: TerminalDocument,
  watchOnly: string | undefined,
): { readonly note: (isLive: boolean) => void; readonly end: () => void } {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isEnded = false
  return {
    note(isLive) {
      if (isEnded) return
      clearTimeout(timer)
      timer = undefined
      if (isLive) page.say(watchOnly)
      else
        timer = setTimeout(
          () => page.say('The connection is lost. The terminal resumes when the server answers; your input is queued.', 'bad'),
          UNNOTICED_MS,
        )
    },
    end() {
      isEnded = true
      clearTimeout(timer)
    },
  }
}

function describeEnd({ exitCode, message }: TerminalEnd): string {
  if (message !== undefined) return `The terminal ended: ${message}`
  return exitCode === undefined ? 'The terminal ended.' : `The terminal ended with exit code ${exitCode}.`
}
