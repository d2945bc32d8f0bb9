/** What files of a Git source have of delivery pipelines, whoever has written them. */
import type { DeliveryPipeline } from '@windlass/protocol'
import { z } from 'zod'
import { valuesOf } from './application-documents.ts'

/** Kinds of objects of a pipeline. */
const KINDS = ['EventSource', 'Sensor', 'WorkflowTemplate'] as const

const Named = z.looseObject({
  apiVersion: z.string().startsWith('argoproj.io/'),
  kind: z.enum(KINDS),
  metadata: z.looseObject({ name: z.string() }),
})

const Sensor = z.looseObject({
  kind: z.literal('Sensor'),
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({
    dependencies: z.array(z.looseObject({ name: z.string(), eventSourceName: z.string(), eventName: z.string() })).nullish(),
    triggers: z
      .array(z.looseObject({ template: z.looseObject({ name: z.string(), conditions: z.string().nullish() }) }))
      .nullish(),
  }),
})

/** The workflow of a trigger, as far as it refers to a template. */
const Submission = z.looseObject({
  source: z.looseObject({
    resource: z.looseObject({ spec: z.looseObject({ workflowTemplateRef: z.looseObject({ name: z.string() }) }) }),
  }),
})

/** Returns the objects of delivery pipelines in a file, as `KIND NAME`; none for a file that is not valid YAML. */
export function deliveryObjectsIn(file: string): string[] {
  // Most files need not be parsed.
  if (!KINDS.some((kind) => file.includes(kind))) return []
  return valuesOf(file).flatMap((value) => {
    const found = Named.safeParse(value).data
    return found === undefined ? [] : [`${found.kind} ${found.metadata.name}`]
  })
}

/** Returns the pipelines of a file: one for each trigger of its sensors. */
export function deliveryPipelinesIn(file: string): Omit<DeliveryPipeline, 'gitSource' | 'file'>[] {
  if (!file.includes('Sensor')) return []
  return valuesOf(file).flatMap((value) => {
    const sensor = Named.safeParse(value).success ? Sensor.safeParse(value).data : undefined
    const { dependencies, triggers } = sensor?.spec ?? {}
    return (triggers ?? []).map(({ template }) => {
      // Without conditions all dependencies are needed.
      const words = template.conditions?.split(/[^\w-]+/)
      const events = (dependencies ?? []).filter(({ name }) => words === undefined || words.includes(name))
      const workflow = Submission.safeParse(template['argoWorkflow'] ?? template['k8s']).data
      return {
        name: template.name,
        sensor: sensor?.metadata.name ?? '',
        events: events.map(({ eventSourceName, eventName }) => `${eventSourceName}/${eventName}`),
        ...(workflow !== undefined && { workflowTemplate: workflow.source.resource.spec.workflowTemplateRef.name }),
      }
    })
  })
}
