/**
 * The Helm commands of the installer. Values are passed on standard input, so that secrets in them do not appear on a command line or in a
 * file. Faults contain the Helm output.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fault, type Fault } from '@windlass/kit/faults'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'
import type { Settings } from '../../config.ts'
import type { Tree } from '../values/read-values.ts'
import { findChart, findHelm, type ChartName } from './find-helm.ts'

/** Name and namespace of a release. */
export interface Release {
  readonly name: string
  readonly namespace: string
}

/** How long Helm waits for the objects of a release, to be ready or gone. Milliseconds. */
export const INSTALL_MS = 300_000
export const UNINSTALL_MS = 180_000

export interface HelmOptions {
  readonly helm?: string | undefined
  readonly chart?: string | undefined
  /** The chart if `chart` names no other one. Default: that of the Runner. */
  readonly chartName?: ChartName | undefined
  readonly settings: Settings
  /** Undefined within a cluster. */
  readonly kubeconfig?: string | undefined
  readonly context?: string | undefined
}

export interface HelmObject {
  readonly kind: string
  readonly name: string
  readonly namespace: string | undefined
  readonly document: Tree
}

export interface Helm {
  /** Installs or upgrades a release, and waits until its objects are ready. Throws `install-failed`. */
  install(release: Release, values: Tree, options?: { timeoutSeconds?: number }): Promise<void>
  /** Renders the objects of an installation, including hooks, without a cluster. Throws `install-failed`. */
  render(release: Release, values: Tree): Promise<HelmObject[]>
  /** Removes a release. Resolves to false if it does not exist. Throws `install-failed`. */
  uninstall(release: Release): Promise<boolean>
  /** Returns the values of a release; undefined if it does not exist. */
  values(release: Release): Promise<Tree | undefined>
  /** Returns the names of the releases in a namespace. */
  list(namespace: string): Promise<string[]>
}

interface Finished {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

const ObjectShape = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
})

/** Opens Helm. Throws `file-not-found` without Helm or the chart. */
export function openHelm(options: HelmOptions): Helm {
  const program = findHelm(options.helm, options.settings)
  const chart = findChart(options.chart, options.settings, options.chartName ?? 'windlass-runtime')
  const where = [
    ...(options.kubeconfig === undefined ? [] : ['--kubeconfig', options.kubeconfig]),
    ...(options.context === undefined ? [] : ['--kube-context', options.context]),
  ]
  const run = (args: readonly string[], input = ''): Promise<Finished> =>
    runHelm(program, args, { input, settings: options.settings })
  const at = ({ name, namespace }: Release): string[] => [name, '--namespace', namespace]
  return {
    async install(release, values, { timeoutSeconds = INSTALL_MS / 1000 } = {}) {
      const { name, namespace } = release
      const args = ['upgrade', '--install', name, chart, '--namespace', namespace, '--create-namespace', ...where]
      const ended = await run([...args, '--values', '-', '--wait', '--timeout', `${timeoutSeconds}s`], JSON.stringify(values))
      if (isLocked(ended)) throw lockedFault(release)
      requireSuccess(ended, 'install')
    },
    async render({ name, namespace }, values) {
      const args = ['template', name, chart, '--namespace', namespace, '--values', '-']
      return toObjects(requireSuccess(await run(args, JSON.stringify(values)), 'render').stdout)
    },
    async uninstall(release) {
      const ended = await run(['uninstall', ...at(release), ...where, '--wait', '--timeout', `${UNINSTALL_MS / 1000}s`])
      if (isAbsent(ended)) return false
      requireSuccess(ended, 'uninstall')
      return true
    },
    async values(release) {
      const ended = await run(['get', 'values', ...at(release), ...where, '--output', 'json'])
      if (isAbsent(ended)) return undefined
      const { stdout } = requireSuccess(ended, 'read the values of')
      return z.record(z.string(), z.unknown()).nullable().parse(JSON.parse(stdout)) ?? {}
    },
    async list(namespace) {
      const { stdout } = requireSuccess(
        await run(['list', '--all', '--namespace', namespace, ...where, '--output', 'json']),
        'list',
      )
      return z
        .array(z.looseObject({ name: z.string() }))
        .parse(JSON.parse(stdout))
        .map(({ name }) => name)
    },
  }
}

function isAbsent({ code, stderr }: Finished): boolean {
  return code !== 0 && /release: not found/.test(stderr)
}

/** Helm keeps a release locked if it was killed while it changed the release. */
function isLocked({ code, stderr }: Finished): boolean {
  return code !== 0 && /another operation \(install\/upgrade\/rollback\) is in progress/.test(stderr)
}

function lockedFault({ name, namespace }: Release): Fault {
  const place = `${name} --namespace ${namespace}`
  return fault('install-failed', {
    message: `Another Helm command works on the release ${name}, or was killed while it did.`,
    hint: `Wait until it ends. If none runs, free the release with \`helm rollback ${place}\`, or with \`helm uninstall ${place}\` if it was the first installation, and run this command again.`,
  })
}

function requireSuccess(ended: Finished, verb: string): Finished {
  if (ended.code === 0) return ended
  const output = ended.stderr.trim().split('\n').slice(-20).join('\n')
  throw fault('install-failed', { message: `Helm could not ${verb} the release: ${output}` })
}

async function runHelm(
  program: string,
  args: readonly string[],
  { input, settings }: { input: string; settings: Settings },
): Promise<Finished> {
  const child = spawn(program, [...args], { stdio: ['pipe', 'pipe', 'pipe'], env: { ...settings.environment } })
  // A program that exits without reading its input is detected by its exit code.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: typeof code === 'number' ? code : 1, stdout, stderr }
}

function toObjects(manifests: string): HelmObject[] {
  const documents = parseAllDocuments(manifests, { version: '1.1' })
  const found: HelmObject[] = []
  for (const document of Array.isArray(documents) ? documents : []) {
    const value: unknown = document.toJS()
    const parsed = ObjectShape.safeParse(value)
    if (!parsed.success) continue
    const { kind, metadata } = parsed.data
    found.push({ kind, name: metadata.name, namespace: metadata.namespace, document: parsed.data })
  }
  return found
}
