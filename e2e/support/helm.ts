import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { defined } from '@windlass/kit/defined'
import { runProgram } from './process.ts'

const root = join(import.meta.dirname, '../..')

/** A Kubernetes object as a chart renders it. */
export type Rendered = {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly [key: string]: unknown }
  readonly [key: string]: unknown
}

export type Helm = {
  /** Runs Helm and returns its output. Throws with the error output of Helm. */
  run(...args: string[]): Promise<string>
  /** Renders a chart of `charts/` with values; later values override earlier ones. Release `cf-runtime`, namespace `codefresh`. */
  template(chart: string, ...values: object[]): Promise<Rendered[]>
  /** Writes values into a file for `--values`. */
  values(value: object): Promise<string>
  close(): Promise<void>
}

/** Returns the pinned Helm with its own folders. With a kubeconfig it may install. */
export async function openHelm(kubeconfig?: string): Promise<Helm> {
  const line = await runProgram(join(root, 'scripts/helm/build'), [])
  const program = /HELM=(\S+)/.exec(line)?.[1]
  if (program === undefined) throw new Error(`scripts/helm/build said: ${line}`)
  const folder = await mkdtemp(join(tmpdir(), 'windlass-helm-'))
  const env = {
    ...process.env,
    HELM_CACHE_HOME: join(folder, 'cache'),
    HELM_CONFIG_HOME: join(folder, 'config'),
    HELM_DATA_HOME: join(folder, 'data'),
    ...defined({ KUBECONFIG: kubeconfig }),
  }
  let files = 0
  const run = (...args: string[]): Promise<string> => runProgram(program, args, { env })
  const values = async (value: object): Promise<string> => {
    files += 1
    const path = join(folder, `values-${files}.yaml`)
    await writeFile(path, JSON.stringify(value))
    return path
  }
  return {
    run,
    values,
    async template(chart, ...list) {
      const given = (await Promise.all(list.map(values))).flatMap((path) => ['--values', path])
      const text = await run('template', 'cf-runtime', join(root, 'charts', chart), '--namespace', 'codefresh', ...given)
      return parseAllDocuments(text).flatMap((document): Rendered[] => {
        if (document.errors[0] !== undefined) throw document.errors[0]
        const value = document.toJS()
        return value === null ? [] : [value]
      })
    },
    close: () => rm(folder, { recursive: true, force: true }),
  }
}
