/** Renders the chart to the runtime specification or to manifests. The chart is the only source of both. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fault } from '@windlass/kit/faults'
import { isRecord } from '@windlass/kit/json'
import { RuntimeInput } from '@windlass/protocol'
import { stringify } from 'yaml'
import { z } from 'zod'
import type { Printer } from '../../printer.ts'
import { readDocuments } from '../../resources/documents.ts'
import type { Helm, HelmObject, Release } from '../helm/helm.ts'
import type { Tree } from '../values/read-values.ts'

/** Key of the chart's ConfigMap that contains the runtime document. */
const RUNTIME_KEY = 'runtime.yaml'
const ConfigMapShape = z.looseObject({ data: z.record(z.string(), z.string()).optional() })

/** Returns the runtime environment that the chart describes for these values, as input for the server. */
export async function renderRuntime(helm: Helm, release: Release, values: Tree): Promise<RuntimeInput> {
  for (const { kind, document } of await helm.render(release, values)) {
    const text = kind === 'ConfigMap' ? ConfigMapShape.parse(document).data?.[RUNTIME_KEY] : undefined
    if (text === undefined) continue
    const [wanted] = readDocuments({ name: RUNTIME_KEY, text }, { name: undefined, runtime: undefined })
    return RuntimeInput.parse(wanted?.body)
  }
  throw fault('install-failed', {
    message: 'The chart does not describe a runtime environment.',
    hint: 'Use another chart with --chart.',
  })
}

/** Writes one file per object, such as `deployment.runner.yaml`. Returns the paths. */
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

/** Returns true for an object of `helm test`, which is not part of an installation. */
function isTest({ document }: HelmObject): boolean {
  const { metadata } = document
  const annotations = isRecord(metadata) ? metadata['annotations'] : undefined
  return isRecord(annotations) && annotations['helm.sh/hook'] === 'test'
}

/** Prints manifests as one stream of YAML documents. */
export function printManifests(out: Printer, objects: readonly HelmObject[]): void {
  for (const { document } of objects.filter((object) => !isTest(object)))
    out.stdout.write(`---\n${stringify(document, { lineWidth: 0 })}`)
}
