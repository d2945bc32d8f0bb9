import { fault } from '@windlass/kit'
import type { App } from '../app.ts'
import { findLastStream } from '../store/builds/logs/streams.ts'
import type { StreamRow } from '../store/schema/schema.ts'
import { findCountedStream } from './text/count-stream.ts'

/** Finds a stream with its lines counted: that of an attempt, or of the last attempt that has it. */
async function findLogStream(
  app: Pick<App, 'store' | 'logs'>,
  buildId: string,
  { stream, attempt }: { readonly stream: string; readonly attempt?: number | undefined },
): Promise<StreamRow | undefined> {
  const number = attempt ?? (await findLastStream(app.store.query, buildId, stream))?.attempt
  return number === undefined ? undefined : findCountedStream(app, { buildId, attempt: number, stream })
}

/** Like `findLogStream`, but throws `not-found`. */
export async function requireLogStream(
  app: Pick<App, 'store' | 'logs'>,
  buildId: string,
  place: { readonly stream: string; readonly attempt?: number | undefined },
): Promise<StreamRow> {
  const row = await findLogStream(app, buildId, place)
  if (row !== undefined) return row
  const { stream, attempt } = place
  throw fault('not-found', {
    message: `Build ${buildId} has no output in the stream "${stream}"${attempt === undefined ? '' : ` of attempt ${attempt}`}.`,
    hint: `\`GET /v1/builds/${buildId}/streams\` lists its streams.`,
  })
}
