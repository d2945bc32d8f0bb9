/** Sends an archive as the response of a call. */
import type { FastifyReply } from 'fastify'
import { defined } from '@windlass/kit'
import type { App } from '../app.ts'
import { openOutlet, type Outlet } from '../feed/event-stream.ts'
import { writeArchive } from './write-archive.ts'

export interface ArchiveRequest {
  readonly logs: boolean
  readonly passphrase: string | undefined
  readonly reply: FastifyReply
  readonly signal: AbortSignal
}

/** Resolves when the response has ended. Throws before the first byte; after it, an error closes the connection, so that the caller gets no complete response. */
export async function serveArchive(app: App, { logs, passphrase, reply, signal }: ArchiveRequest): Promise<void> {
  const lines = app.vault.ring.keys().map(({ text }) => text)
  let out: Outlet | undefined
  const headers = { 'content-type': 'application/x-tar', 'cache-control': 'no-store', 'x-accel-buffering': 'no' }
  try {
    await writeArchive(
      {
        store: app.store,
        clock: app.clock,
        ...defined({
          objects: logs ? app.logs.objects : undefined,
          keys: passphrase === undefined ? undefined : { lines, passphrase },
        }),
      },
      async (bytes) => {
        if (signal.aborted) throw signal.reason
        await out?.write(bytes)
      },
      () => (out = openOutlet(app, reply, { status: 200, headers, signal })),
    )
    out?.end()
  } catch (error) {
    if (out === undefined) throw error
    reply.raw.destroy()
    if (!signal.aborted) app.log.warn({ err: error }, 'archive aborted')
  }
}
