/** A reporter of a runtime in this process, which reads with the rights of the client that it gets. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeTransport, silentLog, systemClock } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import { createClient } from '@windlass/protocol'
import { startReporter } from '@windlass/reporter'
import type { HttpScene } from '../../../packages/server/test/support/http-scene.ts'

export interface ReportOptions {
  readonly http: HttpScene
  readonly kube: Kube
  /** Of the runtime. */
  readonly token: string
  /** Namespace of applications, and that of rollouts and workflows. */
  readonly namespace: string
  readonly objects?: string
}

/** Reports until disposed. */
export async function reportRuntime({
  http,
  kube,
  token,
  namespace,
  objects = namespace,
}: ReportOptions): Promise<AsyncDisposable> {
  await using opening = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'windlass-runtime-report-'))
  opening.defer(() => rm(folder, { recursive: true }))
  const tokenFile = join(folder, 'token')
  await writeFile(tokenFile, token)
  opening.use(
    startReporter({
      kube,
      client: createClient({ url: http.server.url, transport: nodeTransport() }),
      tokenFile,
      namespaces: [namespace],
      objectNamespaces: [objects],
      shard: 0,
      shards: 1,
      version: '1.2.3',
      clock: systemClock,
      log: silentLog,
    }),
  )
  return opening.move()
}
