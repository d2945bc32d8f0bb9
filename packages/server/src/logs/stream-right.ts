/** Who may read which stream of a log. */
import { isTerminalStream, type Right } from '@windlass/protocol'

/** Returns the right that a stream needs. The recording of a terminal is as closed as the terminal was. */
export function rightToRead(stream: string | undefined): Right {
  return stream !== undefined && isTerminalStream(stream) ? 'debug-builds' : 'see-logs'
}
