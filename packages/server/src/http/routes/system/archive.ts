/** Archives of everything that the server stores. */
import { fault } from '@windlass/kit'
import { ArchiveInput } from '@windlass/protocol'
import type { App } from '../../../app.ts'
import { serveArchive } from '../../../archive/serve-archive.ts'
import { noteDetail } from '../../../audit/call.ts'
import { route, type Route } from '../../route.ts'

export function archiveRoutes(app: App): Route[] {
  return [
    route('POST', '/v1/archives', {
      summary: 'Write an archive of the database, optionally with logs and with encrypted master keys, as a tar stream',
      allow: 'manage-account',
      scope: 'account:write',
      body: ArchiveInput,
      callsAtOnce: 1,
      replies: { 200: 'text' },
      isHeld: true,
      async handle({ body: { logs, passphrase }, actor, reply, signal }) {
        if (passphrase !== undefined && actor.kind === 'key' && actor.scopes !== undefined)
          throw fault('scope-missing', {
            message: 'An API key with scopes gets no archive with master keys.',
            hint: 'Omit the passphrase, or use an API key that is not limited to scopes.',
          })
        using _reader = app.readers.take(actor)
        noteDetail(
          [logs ? 'with logs' : 'without logs', passphrase === undefined ? 'without master keys' : 'with master keys'].join(', '),
        )
        // The record of the audit log must exist before the first byte leaves.
        await app.store.write(async () => undefined)
        await serveArchive(app, { logs, passphrase, reply, signal })
        return 'stream'
      },
    }),
  ]
}
