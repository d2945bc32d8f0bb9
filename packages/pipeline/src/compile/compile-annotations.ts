/** Compiles annotations and image metadata to an action of the plan. */
import type { AnnotateAction, AnnotatedEntity, AnnotationChange, AnnotationEntry } from '@windlass/plan'
import { ANNOTATED_ENTITIES } from '@windlass/plan'
import { check } from '../language/check.ts'
import type { ExpressionPlace } from './compile-when.ts'
import { checkExpression } from './compile-when.ts'
import { LABEL } from '../language/control-fields.ts'
import * as read from '../language/fields.ts'
import type { Entries } from '../language/fields.ts'
import { text as textShape } from '../language/shape.ts'
import type { Entry, MapNode, TreeNode } from '../syntax/tree.ts'
import { child, textOf } from '../syntax/tree.ts'

/**
 * Returns the action for `metadata` and `annotations`. Their outer fields were checked against the tables; their entries are checked here.
 * `ofBuild`: `metadata.set` is a list of entries for the image of the step itself instead of images with entries.
 */
export function compileAnnotations(entries: Entries, place: ExpressionPlace, ofBuild: boolean): AnnotateAction {
  const annotations = read.map(entries, 'annotations')
  const metadata = child(read.map(entries, 'metadata'), 'set')
  const path = `${place.path}.metadata.set`
  return {
    kind: 'annotate',
    set: maps(child(annotations, 'set')).map((one, index) =>
      toChange(one, { ...place, path: `${place.path}.annotations.set[${index}]` }, ofBuild),
    ),
    unset: maps(child(annotations, 'unset')).map((one, index) => ({
      entity: entityOf(one),
      ...read.when('id', read.text(one.entries, 'entity_id')),
      names: toNames(child(one, 'annotations'), { ...place, path: `${place.path}.annotations.unset[${index}]` }),
    })),
    metadata: ofBuild
      ? metadata === undefined
        ? []
        : [{ entries: toEntries(metadata, { ...place, path }) }]
      : maps(metadata).flatMap((one, index) =>
          [...one.entries.values()].map((image) => ({
            image: image.key,
            entries: toEntries(image.value, { ...place, path: `${path}[${index}]` }),
          })),
        ),
  }
}

function maps(list: TreeNode | undefined): MapNode[] {
  return list?.kind === 'list' ? list.items.filter((item) => item.kind === 'map') : []
}

function toNames(list: TreeNode | undefined, place: ExpressionPlace): string[] {
  if (list?.kind !== 'list') return []
  return list.items.flatMap((item) => {
    const name = textOf(item)
    if (name === undefined) return []
    checkLabel(name, item.range, place)
    return [name]
  })
}

function entityOf(change: MapNode): AnnotatedEntity {
  const written = read.text(change.entries, 'entity_type')
  return ANNOTATED_ENTITIES.find((entity) => entity === written) ?? 'build'
}

function toChange(change: MapNode, place: ExpressionPlace, ofBuild: boolean): AnnotationChange {
  const written = child(change, 'annotations')
  const entity = entityOf(change)
  const id = read.text(change.entries, 'entity_id')
  if (entity === 'image' && id === undefined && !ofBuild) {
    place.report.error('required', change.range, '"entity_id" is required with "entity_type: image"', {
      path: `${place.path}.entity_id`,
      hint: 'Set it to an image, such as ${{build.imageId}}.',
    })
  }
  return {
    entity,
    ...read.when('id', id),
    entries: written === undefined ? [] : toEntries(written, { ...place, path: `${place.path}.annotations` }),
    ...read.when('display', read.text(change.entries, 'display')),
  }
}

function toEntries(list: TreeNode, place: ExpressionPlace): AnnotationEntry[] {
  if (list.kind !== 'list') return []
  return list.items.flatMap((item, index) => {
    const path = `${place.path}[${index}]`
    if (item.kind === 'map' && item.entries.size === 0)
      place.report.error('empty-value', item.range, `"annotations[${index}]" must contain at least 1 entries`, { path })
    if (item.kind === 'map')
      return [...item.entries.values()].flatMap((entry) => toEntry(entry, { ...place, path: `${path}.${entry.key}` }))
    const name = textOf(item)
    if (name === undefined) {
      place.report.error('wrong-type', item.range, `"annotations[${index}]" must be a name, or a name with a value`, { path })
      return []
    }
    checkLabel(name, item.range, { ...place, path })
    return [{ name, value: { is: '' } }]
  })
}

function checkLabel(name: string, range: Entry['keyRange'], { report, path }: ExpressionPlace): void {
  if (LABEL.pattern.test(name)) return
  report.error('invalid-value', range, `"${name.slice(0, 60)}" can only contain ${LABEL.about}`, { path })
}

function toEntry({ key: name, keyRange, value }: Entry, place: ExpressionPlace): AnnotationEntry[] {
  const { report, path } = place
  checkLabel(name, keyRange, place)
  if (value.kind === 'scalar') return [{ name, value: { is: value.value ?? '' } }]
  const evaluate = child(value, 'evaluate')
  if (value.kind === 'list' || evaluate === undefined || value.entries.size > 1) {
    report.error(
      'wrong-type',
      value.range,
      `"${name}" must be a string, a number, a boolean, or an object with only "evaluate"`,
      { path },
    )
    return []
  }
  const text = textOf(evaluate)
  if (
    !check(evaluate, textShape, { key: 'evaluate', path: `${path}.evaluate` }, report) ||
    text === undefined ||
    evaluate.kind !== 'scalar'
  )
    return []
  checkExpression(evaluate, text, { ...place, path: `${path}.evaluate` })
  return [{ name, value: { evaluate: text } }]
}
