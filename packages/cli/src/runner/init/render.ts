/** The chart as the one source of what goes into the cluster: values in, the runtime's specification or manifests out. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fault } from '@windlass/kit/faults'
import { stringify } from 'yaml'
import { z } from 'zod'
import type { Printer } from '../../printer.ts'
import { readDocuments } from '../../resources/documents.ts'
import type { Helm, HelmObject, Release } from '../helm/helm.ts'
import { isTree, type Tree } from '../values/read-values.ts'

/** Key of the ConfigMap in which the chart keeps the document of its runtime. */
const RUNTIME_KEY = 'runtime.yaml'
const ConfigMapShape = z.looseObject({ data: z.record(z.string(), z.string()).optional() })
const Body = z.looseObject({ name: z.string() })
export type RuntimeBody = z.infer<typeof Body>

/** The runtime environment that the chart describes for these values, as the server takes it. */
export async function renderRuntime(helm: Helm, release: Release, values: Tree): Promise<RuntimeBody> {
  for (const { kind, document } of await helm.render(release, values)) {
    const text = kind === 'ConfigMap' ? ConfigMapShape.parse(document).data?.[RUNTIME_KEY] : undefined
    if (text === undefined) continue
    const [wanted] = readDocuments({ name: RUNTIME_KEY, text }, { name: undefined, runtime: undefined })
    return Body.parse(wanted?.body)
  }
  throw fault('install-failed', {
    message: 'The chart describes no runtime environment.',
    hint: 'Name another one with --chart.',
  })
}

/** One file for each object, named after its kind and name: `deployment.runner.yaml`. Answers their paths. */
export function writeManifests(folder: string, objects: readonly HelmObject[]): string[] {
  mkdirSync(folder, { recursive: true })
  return objects
    .filter((object) => !isTest(object))
    .map(({ kind, name, document }) => {
      const path = join(folder, `${kind.toLowerCase()}.${name.replaceAll(/[^A-Za-z0-9._-]/g, '-')}.yaml`)
      writeFileSync(path, stringify(document, { lineWidth: 0 }), { mode: 0o600 })
      return path
    })
}

/** What `helm test` would run is no part of an installation. */
function isTest({ document }: HelmObject): boolean {
  const { metadata } = document
  const annotations = isTree(metadata) ? metadata['annotations'] : undefined
  return isTree(annotations) && annotations['helm.sh/hook'] === 'test'
}

/** Prints manifests as one stream of YAML documents. */
export function printManifests(out: Printer, objects: readonly HelmObject[]): void {
  for (const { document } of objects.filter((object) => !isTest(object)))
    out.stdout.write(`---\n${stringify(document, { lineWidth: 0 })}`)
}
