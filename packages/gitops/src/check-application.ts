/** Checks the manifest of an application before it is committed: everything that Argo CD would refuse, or ignore without a word, with its place and what to do. */
import { nearest } from '@windlass/plan/suggest'
import { LineCounter, parseDocument, type Document } from 'yaml'
import type { z } from 'zod'
import { ApplicationShape, fieldsAt } from './application-shape.ts'
import { valueAt } from './value-at.ts'

/** Aliases that a manifest may have. More would let a small file become a large value. */
const MAX_ALIASES = 100
/** Problems that are named. */
const MAX_PROBLEMS = 50

export interface ManifestProblem {
  readonly message: string
  readonly path?: string | undefined
  /** In the text of the manifest, from 1. */
  readonly line?: number | undefined
  readonly column?: number | undefined
  readonly hint?: string | undefined
}

/** An application, or why the manifest is none. */
export type CheckedApplication =
  | { readonly application: ApplicationShape; readonly problems?: undefined }
  | { readonly problems: readonly ManifestProblem[] }

type Path = readonly PropertyKey[]

/** Fields that only the cluster writes. */
const WRITTEN_BY_CLUSTER = [
  'creationTimestamp',
  'deletionGracePeriodSeconds',
  'deletionTimestamp',
  'generation',
  'managedFields',
  'ownerReferences',
  'resourceVersion',
  'selfLink',
  'uid',
]

/** Checks one document. */
export function checkApplication(text: string): CheckedApplication {
  const lines = new LineCounter()
  const document = openManifest(text, lines)
  if (document.errors.length > 0)
    return {
      problems: document.errors.slice(0, MAX_PROBLEMS).map(({ message, linePos }) => ({
        message: `The manifest is not valid YAML: ${(message.split('\n')[0] ?? '').replace(/ at line \d+, column \d+:?$/, '')}.`,
        line: linePos?.[0].line,
        column: linePos?.[0].col,
      })),
    }
  const placeOf = (path: Path): Pick<ManifestProblem, 'line' | 'column'> => {
    const offset = offsetOf(document, path)
    const { line, col } = lines.linePos(offset ?? 0)
    return offset === undefined || line === 0 ? {} : { line, column: col }
  }
  const value = valueOf(document)
  if (value === undefined)
    return {
      problems: [{ message: 'The manifest has more aliases than allowed, or unknown ones.', hint: 'Write the values out.' }],
    }
  const parsed = ApplicationShape.safeParse(value)
  const found = parsed.success ? problemsOfSpec(parsed.data) : parsed.error.issues.flatMap((issue) => toProblems(issue, value))
  if (parsed.success && found.length === 0) return { application: parsed.data }
  return {
    problems: found.slice(0, MAX_PROBLEMS).map(({ path, ...rest }) => ({ ...rest, path: path.join('.'), ...placeOf(path) })),
  }
}

/** As Argo CD reads it: YAML 1.1, where a plain `yes` is a boolean. Dates are texts. */
function openManifest(text: string, lineCounter: LineCounter): Document {
  return parseDocument(text, {
    lineCounter,
    version: '1.1',
    customTags: (tags) => tags.filter((tag) => typeof tag === 'string' || !tag.tag.endsWith(':timestamp')),
  })
}

function valueOf(document: Document): unknown {
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES }) ?? null
  } catch {
    return undefined
  }
}

/** Returns the place of a field, or that of the nearest one around it. */
function offsetOf(document: Document, path: Path): number | undefined {
  for (let length = path.length; length >= 0; length -= 1) {
    const node: unknown = document.getIn(path.slice(0, length), true)
    if (typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range)) return Number(node.range[0])
  }
  return undefined
}

interface Found {
  readonly path: Path
  readonly message: string
  readonly hint?: string
}

function toProblems(issue: z.core.$ZodIssue, value: unknown): Found[] {
  const { path } = issue
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownField(path, key))
  if (issue.code === 'invalid_type') return [wrongType(path, issue.expected, valueAt(value, path))]
  if (issue.code === 'invalid_key') return [{ path, message: issue.issues[0]?.message ?? issue.message }]
  return [{ path, message: issue.message }]
}

function unknownField(parent: Path, key: string): Found {
  const path = [...parent, key]
  if (parent.length === 0 && (key === 'status' || key === 'operation'))
    return { path, message: `Argo CD writes the field ${key}.`, hint: 'Remove it: it does not belong in Git.' }
  if (parent.length === 1 && parent[0] === 'metadata' && WRITTEN_BY_CLUSTER.includes(key))
    return { path, message: `The cluster writes the field ${key}.`, hint: 'Remove it: it does not belong in Git.' }
  const close = nearest(key, fieldsAt(parent) ?? [])
  return {
    path,
    message: `An Application has no field ${path.join('.')}.`,
    hint: close === undefined ? 'Remove it.' : `Did you mean ${close}?`,
  }
}

const WORDS: Readonly<Record<string, string>> = {
  object: 'a map',
  record: 'a map',
  array: 'a list',
  string: 'a text',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a number',
}

function wrongType(path: Path, expected: string, given: unknown): Found {
  const wanted = WORDS[expected] ?? expected
  if (given === undefined) return { path, message: `The field ${path.join('.')} is missing: it must be ${wanted}.` }
  const isScalar = typeof given === 'number' || typeof given === 'boolean'
  return {
    path,
    message: path.length === 0 ? 'The manifest must be a map.' : `The field ${path.join('.')} must be ${wanted}.`,
    ...(expected === 'string' && isScalar && { hint: `Write it with quotes: "${String(given)}".` }),
  }
}

type Spec = ApplicationShape['spec']
type Source = NonNullable<Spec['source']>

/** What the definition of Argo CD allows and its controller refuses. */
function problemsOfSpec({ spec }: ApplicationShape): Found[] {
  const { source, sources = [], sourceHydrator, destination } = spec
  const found: Found[] = []
  const given = [source, sources[0], sourceHydrator].filter((one) => one !== undefined).length
  if (given !== 1)
    found.push({
      path: ['spec'],
      message:
        given === 0
          ? 'The application has no source.'
          : 'The application has source, sources and sourceHydrator at once, or two of them.',
      hint: 'Give it one of them.',
    })
  if (source !== undefined) found.push(...problemsOfSource(source, ['spec', 'source']))
  for (const [index, one] of sources.entries()) found.push(...problemsOfSource(one, ['spec', 'sources', index]))
  const { server = '', name = '' } = destination
  if ((server === '') === (name === ''))
    found.push({
      path: ['spec', 'destination'],
      message: server === '' ? 'The destination names no cluster.' : 'The destination has both server and name.',
      hint: 'Give it either server, the URL of the cluster, or name, its name at Argo CD.',
    })
  if (server !== '' && !/^https?:\/\/[^\s@]+$/.test(server))
    found.push({
      path: ['spec', 'destination', 'server'],
      message: 'The server of the destination must be the URL of a cluster.',
      hint: 'Use name for the name of a cluster.',
    })
  return found
}

function problemsOfSource({ path = '', chart = '', targetRevision = '', ref = '' }: Source, place: Path): Found[] {
  if (chart !== '' && path !== '')
    return [
      {
        path: place,
        message: 'The source has both chart and path.',
        hint: 'Give it one of them: chart for a Helm repository, path for Git.',
      },
    ]
  if (chart === '' && path === '' && ref === '')
    return [
      {
        path: place,
        message: 'The source has neither path nor chart.',
        hint: 'Name the folder, "." for the root of the repository, or the chart.',
      },
    ]
  if (chart !== '' && targetRevision === '')
    return [{ path: place, message: 'The source has a chart without a version.', hint: 'Name it with targetRevision.' }]
  if (path.startsWith('/') || path.split('/').includes('..'))
    return [
      {
        path: [...place, 'path'],
        message: `The path "${path}" leaves the repository.`,
        hint: 'Write it from the root of the repository, without / at its start.',
      },
    ]
  return []
}
