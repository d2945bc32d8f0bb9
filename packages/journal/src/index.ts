export {
  openJournal,
  type FrameOptions,
  type Journal,
  type JournalOptions,
  type SpooledFrame,
  type StreamTotal,
  type StreamWriter,
} from './journal.ts'
export type { Numbered, Unnumbered } from './event-log.ts'
