/** Documents of `apply` and `create`. A file may contain several. */
import { isRecord } from '@windlass/kit/json'
import { defined } from '@windlass/kit/defined'
import { fault, type Problem } from '@windlass/kit/faults'
import { nearest } from '@windlass/plan'
import {
  AgentInput,
  ContextInput,
  DEFINITION_KINDS,
  EnvironmentInput,
  PipelineInput,
  ProductInput,
  ProjectInput,
  PromotionFlowInput,
  PromotionPolicyInput,
  PromotionTemplateInput,
  RuntimeInput,
  StepTypeInput,
} from '@windlass/protocol'
import { isMap, parseAllDocuments, type Document } from 'yaml'
import type { z } from 'zod'
import type { InputFile } from '../input/input-files.ts'

const DOCUMENT_KINDS = ['pipeline', 'project', 'context', 'runtime', 'agent', 'step-type', ...DEFINITION_KINDS] as const
/** Kinds of the objects of public runtimes, whose specs are the same. */
const PUBLIC_KINDS: Readonly<Record<string, DocumentKind>> = {
  Product: 'product',
  PromotionFlow: 'promotion-flow',
  PromotionPolicy: 'promotion-policy',
  PromotionTemplate: 'promotion-template',
}
type DocumentKind = (typeof DOCUMENT_KINDS)[number]
type ResourceKind = `${DocumentKind}s`

/** A resource to create, ready to be sent. */
export interface ResourceInput {
  readonly kind: ResourceKind
  readonly name: string
  readonly body: unknown
  /** File and first line of its document, to map the positions of problems found by the server. */
  readonly file: string
  readonly firstLine: number
}

export interface DocumentOptions {
  /** Name of a pipeline document without a name. */
  readonly name: string | undefined
  readonly runtime: string | undefined
}

/** Reads the documents of a file, in order. Throws `document-invalid` with positions. */
export function readDocuments(file: InputFile, options: DocumentOptions): ResourceInput[] {
  const documents = parseAllDocuments(file.text, { prettyErrors: true })
  const wanted: ResourceInput[] = []
  for (const document of Array.isArray(documents) ? documents : []) {
    requireValidSyntax(document, file.name)
    if (document.contents === null) continue
    const [from, , end] = document.range
    const start = from + (/^---[^\n]*\n/.exec(file.text.slice(from))?.[0].length ?? 0)
    const firstLine = file.text.slice(0, start).split('\n').length
    wanted.push(toResourceInput(document, { file: file.name, firstLine, text: file.text.slice(start, end), options }))
  }
  if (wanted.length === 0)
    throw fault('document-invalid', {
      message: `${file.name} does not contain a document.`,
      hint: 'Write at least one document.',
    })
  return wanted
}

function requireValidSyntax(document: Document.Parsed, file: string): void {
  if (document.errors.length === 0) return
  const problems = document.errors.map(({ message, linePos }): Problem => ({
    file,
    line: linePos?.[0].line,
    column: linePos?.[0].col,
    code: 'yaml-syntax',
    message: message.split('\n')[0]?.replace(/ at line \d+, column \d+:?$/, '') ?? message,
  }))
  throw fault('document-invalid', { message: `${file} is not valid YAML.`, problems })
}

interface Part {
  readonly file: string
  readonly firstLine: number
  readonly text: string
  readonly options: DocumentOptions
}

function toResourceInput(document: Document.Parsed, part: Part): ResourceInput {
  const value: unknown = document.toJS({ maxAliasCount: 100 })
  if (!isRecord(value) || !isMap(document.contents)) throw invalid(part, 'A document must be a mapping.')
  const { kind } = value
  if (kind === undefined && ('steps' in value || 'stages' in value || 'version' in value)) return barePipeline(part)
  const known = DOCUMENT_KINDS.find((name) => name === kind) ?? (typeof kind === 'string' ? PUBLIC_KINDS[kind] : undefined)
  if (known === undefined) {
    const near = typeof kind === 'string' ? nearest(kind, DOCUMENT_KINDS) : undefined
    const hint = near === undefined ? `Use one of ${DOCUMENT_KINDS.join(', ')}.` : `Did you mean "${near}"?`
    throw invalid(
      part,
      kind === undefined ? 'A document needs a kind.' : `The kind ${JSON.stringify(kind)} does not exist.`,
      hint,
    )
  }
  const metadata = isRecord(value['metadata']) ? value['metadata'] : {}
  const name = metadata['name'] ?? (known === 'pipeline' ? part.options.name : undefined)
  if (typeof name !== 'string' || name === '') throw invalid(part, `A ${known} needs metadata.name.`)
  const spec = isRecord(value['spec']) ? value['spec'] : {}
  return resourceInputOf(known, { part, name, metadata, spec })
}

function barePipeline(part: Part): ResourceInput {
  const { name, runtime } = part.options
  if (name === undefined)
    throw invalid(part, 'A pipeline needs a name.', 'Add --name, or write kind: pipeline and metadata.name.')
  return check(PipelineInput, { name, document: part.text, ...defined({ runtime }) }, { part, kind: 'pipelines', name })
}

interface Named {
  readonly part: Part
  readonly name: string
  readonly metadata: Readonly<Record<string, unknown>>
  readonly spec: Readonly<Record<string, unknown>>
}

function resourceInputOf(kind: DocumentKind, { part, name, metadata, spec }: Named): ResourceInput {
  const isDefault = metadata['default'] ?? spec['isDefault'] ?? false
  switch (kind) {
    case 'pipeline': {
      const { runtime } = part.options
      return check(PipelineInput, { name, document: part.text, ...defined({ runtime }) }, { part, kind: 'pipelines', name })
    }
    case 'project':
      return check(ProjectInput, { name, ...spec }, { part, kind: 'projects', name })
    case 'context':
      return check(ContextInput, { name, isDefault, ...spec }, { part, kind: 'contexts', name })
    case 'agent':
      return check(AgentInput, { name, ...spec }, { part, kind: 'agents', name })
    case 'step-type': {
      const version = metadata['version']
      const named = typeof version === 'string' ? `${name}:${version}` : name
      return check(StepTypeInput, { manifest: part.text }, { part, kind: 'step-types', name: named })
    }
    case 'environment':
      return check(EnvironmentInput, spec, { part, kind: 'environments', name })
    case 'product':
      return check(ProductInput, spec, { part, kind: 'products', name })
    case 'promotion-template':
      return check(PromotionTemplateInput, spec, { part, kind: 'promotion-templates', name })
    case 'promotion-flow':
      return check(PromotionFlowInput, spec, { part, kind: 'promotion-flows', name })
    case 'promotion-policy':
      return check(PromotionPolicyInput, spec, { part, kind: 'promotion-policys', name })
    case 'runtime': {
      const { type, agent, isDefault: _, ...rest } = spec
      const body = { name, isDefault, ...defined({ type, agent }), spec: rest }
      return check(RuntimeInput, body, { part, kind: 'runtimes', name })
    }
  }
}

function check(
  shape: z.ZodType,
  body: unknown,
  { part, kind, name }: { part: Part; kind: ResourceKind; name: string },
): ResourceInput {
  const parsed = shape.safeParse(body)
  if (parsed.success) return { kind, name, body: parsed.data, file: part.file, firstLine: part.firstLine }
  const problems = parsed.error.issues.map((issue): Problem => ({
    file: part.file,
    line: part.firstLine,
    message: `${issue.path.join('.')}: ${inYamlWords(issue.message)}`,
  }))
  throw fault('document-invalid', { ...invalidFields(kind, name, part.file), problems })
}

const YAML_WORDS: Readonly<Record<string, string>> = { record: 'a mapping', object: 'a mapping', array: 'a list' }

/** Returns the message of a schema with the words of YAML. */
function inYamlWords(message: string): string {
  return message.replace(/\b(expected|received) (record|object|array)\b/g, (all, verb: string, type: string) => {
    const word = YAML_WORDS[type]
    return word === undefined ? all : `${verb} ${word}`
  })
}

/** Returns the message about a resource whose fields are invalid. */
export function invalidFields(kind: ResourceKind, name: string, file: string): { readonly message: string } {
  return { message: `The ${kind.slice(0, -1)} "${name}" in ${file} has invalid fields.` }
}

function invalid({ file, firstLine }: Part, message: string, hint = 'See `windlass apply --help`.'): Error {
  return fault('document-invalid', { message: `${file}:${firstLine}: ${message}`, hint })
}
