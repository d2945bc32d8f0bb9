/** The database, logs and keys of a server that does not run, by its settings. */
import { fault } from '@windlass/kit/faults'
import type { toServerOptions } from '@windlass/local/archive'
import type { Settings } from '../../config.ts'

/** Reads the settings WINDLASS_SERVER_*, with another data folder if one is given. Throws `usage` without a data folder. */
export async function readServerTarget(
  { environment }: Settings,
  data: string | undefined,
): Promise<ReturnType<typeof toServerOptions>> {
  const archives = await import('@windlass/local/archive')
  if (data === undefined && (environment['WINDLASS_SERVER_DATA_DIR'] ?? '') === '')
    throw fault('usage', {
      message: 'The data folder of the server is not known.',
      hint: 'Use --data, or set WINDLASS_SERVER_DATA_DIR and the other settings as for the server.',
    })
  return archives.toServerOptions(
    archives.readServerConfig({ ...environment, ...(data !== undefined && { WINDLASS_SERVER_DATA_DIR: data }) }),
  )
}
