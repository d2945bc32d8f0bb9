/** Compose documents in a plan: substitutes their variables, finds their directory and their images. */
import type { BuildScope } from '../expression/build-scope.ts'
import type { Scope } from '../expression/substitute.ts'
import { fillVolumeDirectory } from './directory.ts'
import { StepFields } from './step-fields.ts'
import type { JsonTemplate, Template } from './template.ts'

/** A compose document, or its path relative to the working directory. The compiler inlines stored compositions. */
export type ComposeSource = { readonly inline: JsonTemplate } | { readonly path: Template }

/** A compose document as JSON, or its absolute path on the shared volume. */
export type ResolvedCompose = { readonly inline: JsonTemplate } | { readonly path: string }

/** Substitutes variables in every string of a JSON value; keys are unchanged. */
function fillJson(field: string, value: JsonTemplate, fields: StepFields): JsonTemplate {
  if (typeof value === 'string') return fields.text(field, value)
  if (value === null || typeof value !== 'object') return value
  if (isList(value)) return value.map((item, index) => fillJson(`${field}[${index}]`, item, fields))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fillJson(`${field}.${key}`, item, fields)]))
}

function isList(value: JsonTemplate): value is readonly JsonTemplate[] {
  return Array.isArray(value)
}

/**
 * Substitutes variables in every string of a compose document. Escapes `$` in values and in undefined references, so that compose does not read a
 * variable.
 */
export function fillDocument(field: string, value: JsonTemplate, fields: StepFields): JsonTemplate {
  const { scope, notes } = fields
  const escaped = (inner: Scope): Scope => ({ lookup: (name) => inner.lookup(name)?.replaceAll(/\$(?!\{\{)/g, '$$$$') })
  const escapedScope: BuildScope = { ...scope, as: (purpose) => escaped(scope.as(purpose)) }
  const filled = fillJson(field, value, new StepFields(escapedScope, notes))
  return mapTexts(filled, (text) => text.replaceAll('${{', '$$${{'))
}

function mapTexts(value: JsonTemplate, change: (text: string) => string): JsonTemplate {
  if (typeof value === 'string') return change(value)
  if (value === null || typeof value !== 'object') return value
  if (isList(value)) return value.map((item) => mapTexts(item, change))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapTexts(item, change)]))
}

export function fillCompose(field: string, source: ComposeSource, directory: string, fields: StepFields): ResolvedCompose {
  if ('inline' in source) return { inline: fillDocument(field, source.inline, fields) }
  const path = fields.required(field, source.path)
  return { path: path.startsWith('/') ? path : `${directory}/${path.replace(/^\.\//, '')}` }
}

/** Returns the directory of a compose file: the working directory, else the folder of `main_clone`, else the shared volume. */
export function composeDirectory(template: Template | undefined, fields: StepFields): string {
  return fillVolumeDirectory(template, fields, 'main-clone').replace(/\/$/, '')
}

/** Returns the images of an inline compose document. A compose file is not read, because it may not exist yet. */
export function composeImages(source: ComposeSource): Template[] {
  if ('path' in source) return []
  const document = source.inline
  const listed = isMap(document) && isMap(document['services'] ?? null) ? document['services'] : document
  return isMap(listed ?? null) ? Object.values(listed as Record<string, JsonTemplate>).flatMap(imageOfService) : []
}

/** Returns the image of a compose service, if it has one. */
export function imageOfService(service: JsonTemplate): Template[] {
  const image = isMap(service) ? service['image'] : undefined
  return typeof image === 'string' ? [image] : []
}

function isMap(value: JsonTemplate): value is { readonly [key: string]: JsonTemplate } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
