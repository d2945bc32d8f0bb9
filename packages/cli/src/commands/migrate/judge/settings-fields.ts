/** Removes from a `kind: pipeline` document what Windlass refuses and what has no meaning: unknown fields of the settings, and empty ones. */
import { isRecord } from '@windlass/kit/json'
import { parseYaml, readPipelineDocument, toValue } from '@windlass/pipeline'
import { isMap, isScalar, parseDocument } from 'yaml'
import { fieldsIn } from './recognize.ts'
import type { Remark } from './verdict.ts'

/** Paths of unknown fields outside of the steps. */
const SETTING = /^(?:spec\.)?(?:runtimeEnvironment\.|specTemplate\.)?[^.[\]]+$/

/** Levels of a document at which settings are: `spec.runtimeEnvironment.cpu`. */
const MAX_DEPTH = 3

/** Returns the document without these fields, and the unknown ones as remarks. The text stays as written if there are none. */
export function withoutUnknownFields(text: string): { readonly text: string; readonly remarks: readonly Remark[] } {
  const { problems } = readPipelineDocument({ text, file: '' })
  const unknown = problems.filter(({ code, path }) => code === 'unknown-key' && SETTING.test(path))
  const paths = [...unknown.map(({ path }) => path), ...emptyFields(text)]
  if (paths.length === 0) return { text, remarks: [] }
  const changed = withoutFields(text, paths)
  if (changed === undefined) return { text, remarks: [] }
  const remarks = unknown.map(({ path }) => ({
    path,
    reason: `The field "${path}" does not exist in Windlass and is left out.`,
    action: '',
  }))
  return { text: changed, remarks }
}

/** Returns undefined if another part of the document refers to one of the fields. Linear in the text: the keys are known to be unique. */
function withoutFields(text: string, paths: readonly string[]): string | undefined {
  const document = parseDocument(text, { merge: true, uniqueKeys: false })
  const removed = new Set(paths)
  const remove = (map: unknown, prefix: string, depth: number): void => {
    if (!isMap(map)) return
    map.items = map.items.filter(({ key }) => !removed.has(prefix + textOfKey(key)))
    if (depth === MAX_DEPTH) return
    for (const { key, value } of map.items) remove(value, `${prefix}${textOfKey(key)}.`, depth + 1)
  }
  remove(document.contents, '', 1)
  try {
    return document.toString({ lineWidth: 0, flowCollectionPadding: false })
  } catch {
    return undefined
  }
}

/** Returns the paths of settings without a value, which exports write for settings that are not set. */
function emptyFields(text: string): string[] {
  const { root } = parseYaml({ text, file: '' })
  const value = root === undefined ? {} : toValue(root)
  const spec = isRecord(value) ? fieldsIn(value, 'spec') : {}
  const empty = (fields: object, path: string): string[] =>
    Object.entries(fields).flatMap(([key, one]) => (one === null && !/[.[\]]/.test(key) ? `${path}.${key}` : []))
  return [...empty(spec, 'spec'), ...empty(fieldsIn(spec, 'runtimeEnvironment'), 'spec.runtimeEnvironment')]
}

function textOfKey(key: unknown): string {
  return isScalar(key) ? String(key.value) : ''
}
