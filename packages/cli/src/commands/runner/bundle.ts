/** The command `runner bundle`, which writes an archive for support. */
import { writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { VERSION } from '@windlass/plan/version'
import type { Invocation } from '../../command.ts'
import { collect, hideTokens } from '../../runner/bundle.ts'
import { openInstallTarget } from '../../runner/install/target.ts'
import { toTar } from '../../runner/tar.ts'
import type { ValueFlags } from '../../runner/values/install-values.ts'
import { openSession } from '../../session/session.ts'

/** Writes objects, events and the last log lines of a namespace. Of Secrets it writes only the names. */
export async function writeBundle({
  options,
  out,
  settings,
}: Invocation<ValueFlags & { file: string | undefined }>): Promise<void> {
  await using target = await openInstallTarget(options, {}, settings)
  const files = await collect(target.cluster.kube, target.namespace)
  files.set('cli.txt', `windlass ${VERSION}\n`)
  files.set('server.json', await describeServer(settings))
  const path = options.file ?? 'runner-bundle.tar.gz'
  writeFileSync(path, gzipSync(await toTar(files)), { mode: 0o600 })
  out.line(path)
  out.note(`${files.size} files, without the contents of Secrets. Review the archive before you send it.`)
}

/** Describes the server. An unreachable server does not keep the bundle from being written. */
async function describeServer(settings: Invocation<object>['settings']): Promise<string> {
  try {
    const { client } = openSession(settings)
    const [agents, runtimes] = await Promise.all([client.agents.list(), client.runtimes.list()])
    return hideTokens(JSON.stringify({ agents: agents.items, runtimes: runtimes.items }, null, 2))
  } catch (error) {
    return `not available: ${error instanceof Error ? error.message : String(error)}\n`
  }
}
