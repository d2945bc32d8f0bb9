/** The kinds of rollouts and workflows that GitOps runtimes have reported: their calls and columns. */
import { formatDuration } from '@windlass/plan'
import type { ReportedRollout, ReportedWorkflow } from '@windlass/protocol'
import { paintStatus } from '../format/style.ts'
import { formatAge, formatTime } from '../format/time.ts'
import { age, type Kind } from './kind.ts'

export const rollouts: Kind<ReportedRollout> = {
  name: 'rollouts',
  singular: 'rollout',
  of: ({ reportedRollouts: { list, get } }) => ({
    list: ({ query: { limit, cursor, rollouts: filter } }) => list({ query: { limit, cursor, ...filter } }),
    get,
  }),
  nameOf: ({ runtime, namespace, name }) => `${runtime}/${namespace}/${name}`,
  columns: {
    RUNTIME: ({ runtime }) => runtime,
    NAMESPACE: ({ namespace }) => namespace,
    NAME: ({ name }) => name,
    PHASE: ({ phase, isAborted }, { style }) => `${paintStatus(style, phase)}${isAborted ? ' (aborted)' : ''}`,
    STEP: ({ currentStep, steps }) => (currentStep === undefined ? '' : `${currentStep}/${steps}`),
    WEIGHT: ({ weight }) => (weight === undefined ? '' : `${weight} %`),
    REVISION: ({ revision }) => String(revision ?? ''),
    AVAILABLE: ({ replicas: { available, wanted } }) => `${available}/${wanted}`,
    SINCE: ({ since }, { now }) => formatAge(since, now),
    MESSAGE: ({ message }) => message ?? '',
  },
  wide: {
    ID: ({ id }) => id,
    APPLICATION: ({ application }) => application ?? '',
    STRATEGY: ({ strategy }) => strategy,
    REPORTED: ({ reportedAt }) => formatTime(reportedAt),
    AGE: age,
  },
}

export const workflows: Kind<ReportedWorkflow> = {
  name: 'workflows',
  singular: 'workflow',
  of: ({ reportedWorkflows: { list, get } }) => ({
    list: ({ query: { limit, cursor, workflows: filter } }) => list({ query: { limit, cursor, ...filter } }),
    get,
  }),
  nameOf: ({ runtime, namespace, name }) => `${runtime}/${namespace}/${name}`,
  columns: {
    RUNTIME: ({ runtime }) => runtime,
    NAMESPACE: ({ namespace }) => namespace,
    NAME: ({ name }) => name,
    PHASE: ({ phase }, { style }) => paintStatus(style, phase),
    PROGRESS: ({ progress }) => progress ?? '',
    TIME: ({ startedAt, finishedAt, goneAt }, { now }) =>
      startedAt === undefined ? '' : formatDuration(Math.max(0, (finishedAt ?? goneAt ?? now) - startedAt)),
    AGE: age,
    TEMPLATE: ({ template }) => template ?? '',
    BY: ({ by }) => by ?? '',
    GONE: ({ goneAt }, { now }) => (goneAt === undefined ? '' : `${formatAge(goneAt, now)} ago`),
    MESSAGE: ({ message }) => message ?? '',
  },
  wide: { ID: ({ id }) => id, REPORTED: ({ reportedAt }) => formatTime(reportedAt) },
}
