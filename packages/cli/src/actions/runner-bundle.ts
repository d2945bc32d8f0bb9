/** `runner bundle`: an archive for support. */
import { writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { listAgents, listRuntimes } from '../api-runner.ts'
import type { Invocation } from '../command.ts'
import { collect, hideTokens } from '../runner/bundle.ts'
import { openInstallPlace } from '../runner/install/place.ts'
import { toTar } from '../runner/tar.ts'
import type { ValueFlags } from '../runner/values/wishes.ts'
import { openSession } from '../session.ts'
import { VERSION } from '../commands/version.ts'

/** Writes objects, events and the ends of logs of a namespace; Secrets by their names alone. */
export async function writeBundle({
  options,
  out,
  settings,
}: Invocation<ValueFlags & { file: string | undefined }>): Promise<void> {
  await using place = await openInstallPlace(options, {}, settings)
  const files = await collect(place.cluster.kube, place.namespace)
  files.set('cli.txt', `windlass ${VERSION}\n`)
  files.set('server.json', await describeServer(settings))
  const path = options.file ?? 'runner-bundle.tar.gz'
  writeFileSync(path, gzipSync(toTar(files)), { mode: 0o600 })
  out.line(path)
  out.note(`${files.size} files. Secrets are named, never shown; read it before you send it.`)
}

/** The cluster can be told about while the server is away. */
async function describeServer(settings: Invocation<object>['settings']): Promise<string> {
  try {
    const { client } = openSession(settings)
    const [agents, runtimes] = await Promise.all([listAgents(client), listRuntimes(client)])
    return hideTokens(JSON.stringify({ agents, runtimes }, null, 2))
  } catch (error) {
    return `not to be had: ${error instanceof Error ? error.message : String(error)}\n`
  }
}
