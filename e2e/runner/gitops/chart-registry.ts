/** A registry with charts that Argo CD installs, without TLS. */
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { openHelm, type Helm } from '../../support/helm.ts'
import { startRegistry } from '../../support/registry.ts'
import type { RepositoryScene } from './repository-scene.ts'

export interface ChartRegistry extends AsyncDisposable {
  readonly helm: Helm
  urlOf(chart: string): string
  /** Packages the chart of a folder as this version, and pushes it. */
  push(folder: string, version: string): Promise<void>
  /** Makes a chart that has only a definition of a kind. Returns its folder. */
  chartWith(name: string, definition: string): Promise<string>
  /**
   * Lets Argo CD take charts of the registry. For the chart of an application it looks for a `repository` with this URL: it finds no `repo-creds` for an address with a port.
   */
  logIn(name: string, type: 'repository' | 'repo-creds'): Promise<void>
}

export async function openChartRegistry({
  cluster,
  namespaces,
}: Pick<RepositoryScene, 'cluster' | 'namespaces'>): Promise<ChartRegistry> {
  await using opening = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'windlass-charts-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  const { domain } = opening.use(await startRegistry({ host: cluster.host }))
  const helm = await openHelm()
  opening.defer(() => helm.close())
  const opened = opening.move()
  return {
    helm,
    urlOf: (chart) => `oci://${domain}/charts/${chart}`,
    async push(chart, version) {
      await helm.run('package', chart, '--version', version, '--destination', folder)
      await helm.run('push', join(folder, `${basename(chart)}-${version}.tgz`), `oci://${domain}/charts`, '--plain-http')
    },
    async chartWith(name, definition) {
      const chart = join(folder, name)
      await mkdir(join(chart, 'crds'), { recursive: true })
      await writeFile(join(chart, 'Chart.yaml'), `apiVersion: v2\nname: ${name}\nversion: 0.0.0\n`)
      await copyFile(definition, join(chart, 'crds', basename(definition)))
      return chart
    },
    async logIn(name, type) {
      await cluster.apply({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name, namespace: namespaces.prod, labels: { 'argocd.argoproj.io/secret-type': type } },
        stringData: { type: 'helm', url: `${domain}/charts`, enableOCI: 'true', insecureOCIForceHttp: 'true' },
      })
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
