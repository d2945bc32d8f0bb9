/** Adds or changes a trigger for pushed images, pushed charts, or ended builds of another pipeline. Fields that the form does not have keep their values. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { FINAL_BUILD_STATUSES } from '@windlass/plan'
import { EventTriggerInput, type EventTrigger, type PipelineEventTrigger } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { Button } from '../parts/button.tsx'
import { Checks, Select } from '../parts/forms/choice.tsx'
import { Command } from '../parts/copy.tsx'
import { Dialog } from '../parts/floating/dialog.tsx'
import { Field } from '../parts/forms/field.tsx'
import layout from '../parts/layout.module.css'
import { Problem } from '../parts/problem.tsx'
import { sh } from '../parts/shell.ts'
import { queries } from '../server/queries.ts'
import { useAway } from '../shell/away-bar.tsx'
import { toInput } from './describe-trigger.ts'
import { explain } from './git-form.tsx'
import { storeEventTrigger } from './store-trigger.ts'
import { toEventCommand, type EventFacts } from './trigger-command.ts'

type Kind = EventTrigger['type']

const KINDS: Readonly<Record<Kind, string>> = {
  registry: 'An image is pushed',
  helm: 'A chart is pushed',
  build: 'A build of another pipeline ends',
}
const PIPELINES = 'pipelines-that-end'

interface EventFormProps {
  readonly pipeline: string
  /** The trigger that is changed. */
  readonly trigger?: PipelineEventTrigger
  readonly onClose: () => void
}

export function EventForm({ pipeline, trigger, onClose }: EventFormProps): ReactElement {
  const away = useAway()
  const [form, setForm] = useState(() => toFields(trigger))
  const change = (more: Partial<EventFacts>): void => setForm({ ...form, ...more })
  const checked = EventTriggerInput.safeParse({ ...(trigger && keptOf(trigger)), pipeline, ...toSpecific(form) })
  const wrong = checked.success ? undefined : explain(checked.error.issues[0])
  const store = useMutation({
    mutationFn: async () => checked.data && storeEventTrigger(checked.data, trigger?.id),
    onSuccess: onClose,
  })
  return (
    <Dialog
      isOpen
      isWide
      onClose={onClose}
      title={
        trigger === undefined
          ? `Add a trigger for images, charts or builds to ${pipeline}`
          : `Trigger ${trigger.name} of ${pipeline}`
      }
      actions={
        <>
          <Button tone="primary" off={away ?? wrong} isBusy={store.isPending} onClick={() => store.mutate()}>
            {trigger === undefined ? 'Add the trigger' : 'Save the trigger'}
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </>
      }
    >
      <div className={layout['pair']}>
        <Field label="Name" value={form.name} onChange={(event) => change({ name: event.target.value })} />
        {trigger === undefined && (
          <Select
            label="Builds start when"
            options={Object.entries(KINDS).map(([value, label]) => ({ value, label }))}
            value={form.type}
            onChange={(value) => change({ type: isKind(value) ? value : form.type })}
          />
        )}
      </div>
      {form.type === 'build' ? (
        <AfterBuild form={form} change={change} />
      ) : (
        <AfterPush form={form} type={form.type} change={change} />
      )}
      {wrong !== undefined && form.name !== '' && <p role="alert">{wrong}</p>}
      {store.error !== null && <Problem error={store.error} />}
      <Command
        text={
          trigger === undefined
            ? toEventCommand(pipeline, form)
            : sh`windlass get event-triggers ${`${pipeline}#${trigger.name}`} -o yaml`
        }
      />
    </Dialog>
  )
}

interface PartProps {
  readonly form: EventFacts
  readonly change: (more: Partial<EventFacts>) => void
}

function AfterPush({ form, type, change }: PartProps & { readonly type: 'registry' | 'helm' }): ReactElement {
  const isImage = type === 'registry'
  return (
    <>
      <div className={layout['pair']}>
        <Field
          label={isImage ? 'Image' : 'Chart'}
          hint={isImage ? 'Without host and tag: team/app' : 'Without host and version: charts/app'}
          value={form.artifact}
          onChange={(event) => change({ artifact: event.target.value })}
        />
        <Field
          label={isImage ? 'Tags' : 'Versions'}
          hint="/regular expression/ or a glob. Empty: all."
          value={form.filter}
          onChange={(event) => change({ filter: event.target.value })}
        />
      </div>
      <Field
        label="Webhook of the registry"
        hint="The name of a webhook on this server. Empty: all webhooks of registries."
        value={form.webhook}
        onChange={(event) => change({ webhook: event.target.value })}
      />
    </>
  )
}

function AfterBuild({ form, change }: PartProps): ReactElement {
  const { data: pipelines } = useQuery(queries.pipelines())
  return (
    <>
      <div className={layout['pair']}>
        <Field
          label="Pipeline"
          list={PIPELINES}
          value={form.source}
          onChange={(event) => change({ source: event.target.value })}
        />
        <datalist id={PIPELINES}>
          {pipelines?.items.map(({ id, name }) => (
            <option key={id} value={name} />
          ))}
        </datalist>
        <Field
          label="Branches"
          hint="/regular expression/ or a glob. Empty: all."
          value={form.branch}
          onChange={(event) => change({ branch: event.target.value })}
        />
      </div>
      <Checks
        legend="Its builds end with"
        options={FINAL_BUILD_STATUSES}
        chosen={form.statuses}
        onChange={(statuses) => change({ statuses })}
      />
    </>
  )
}

function isKind(value: string): value is Kind {
  return value in KINDS
}

function toFields(trigger: PipelineEventTrigger | undefined): EventFacts {
  return {
    type: trigger?.type ?? 'registry',
    name: trigger?.name ?? '',
    artifact: trigger?.type === 'registry' ? trigger.image : trigger?.type === 'helm' ? trigger.chart : '',
    filter: (trigger?.type === 'registry' ? trigger.tag : trigger?.type === 'helm' ? trigger.version : undefined) ?? '',
    webhook: (trigger?.type === 'build' ? undefined : trigger?.webhook) ?? '',
    source: trigger?.type === 'build' ? trigger.source : '',
    statuses: trigger?.type === 'build' ? trigger.statuses : ['success'],
    branch: (trigger?.type === 'build' ? trigger.branchRegex : undefined) ?? '',
  }
}

/** Returns the fields of the form as the input of its kind has them. */
function toSpecific({ type, name, artifact, filter, webhook, source, statuses, branch }: EventFacts): object {
  const given = (key: string, text: string): object => (text.trim() === '' ? {} : { [key]: text.trim() })
  const common = { type, name: name.trim() }
  if (type === 'build') return { ...common, source: source.trim(), statuses, ...given('branchRegex', branch) }
  const own =
    type === 'registry'
      ? { image: artifact.trim(), ...given('tag', filter) }
      : { chart: artifact.trim(), ...given('version', filter) }
  return { ...common, ...own, ...given('webhook', webhook) }
}

/** The fields that the form has: one that is emptied goes from the trigger. */
const OF_FORM: ReadonlySet<string> = new Set(['image', 'tag', 'chart', 'version', 'webhook', 'source', 'statuses', 'branchRegex'])

function keptOf(trigger: PipelineEventTrigger): object {
  return Object.fromEntries(Object.entries(toInput(trigger)).filter(([key]) => !OF_FORM.has(key)))
}
