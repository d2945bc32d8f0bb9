/** Adds or changes a trigger at times. The expression is read while it is typed: its words and its next three times. */
import { useMutation } from '@tanstack/react-query'
import { describeSchedule } from '@windlass/plan/schedule'
import { CronTriggerInput, type PipelineCronTrigger } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { Button } from '../parts/button.tsx'
import { Select } from '../parts/forms/choice.tsx'
import { Command } from '../parts/copy.tsx'
import { Dialog } from '../parts/floating/dialog.tsx'
import { Field } from '../parts/forms/field.tsx'
import layout from '../parts/layout.module.css'
import { Problem } from '../parts/problem.tsx'
import { sh } from '../parts/shell.ts'
import { useAway } from '../shell/away-bar.tsx'
import { toInput, type AnyTrigger } from './describe-trigger.ts'
import { explain } from './git-form.tsx'
import { storeCronTrigger } from './store-trigger.ts'
import { toCronCommand } from './trigger-command.ts'
import { NextTimes } from './trigger-row.tsx'

const ZONES = 'time-zones'

interface CronFormProps {
  readonly pipeline: string
  /** All triggers of the pipeline: a build gets its repository from one for git events. */
  readonly triggers: readonly AnyTrigger[]
  /** The trigger that is changed. */
  readonly trigger?: PipelineCronTrigger
  readonly onClose: () => void
}

export function CronForm({ pipeline, triggers, trigger, onClose }: CronFormProps): ReactElement {
  const away = useAway()
  const [form, setForm] = useState({
    name: trigger?.name ?? '',
    message: trigger?.message ?? '',
    expression: trigger?.expression ?? '0 3 * * *',
    timezone: trigger?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    gitTrigger: trigger?.gitTrigger ?? '',
    branch: trigger?.branch ?? '',
  })
  const change = (more: Partial<typeof form>): void => setForm({ ...form, ...more })
  const { gitTrigger, branch, ...texts } = form
  const input = {
    ...(trigger === undefined ? {} : keptOf(trigger)),
    ...texts,
    message: form.message.trim() === '' ? form.name : form.message,
    pipeline,
    ...(gitTrigger !== '' && { gitTrigger, branch: branch.trim() }),
  }
  const checked = CronTriggerInput.safeParse(input)
  const wrong = checked.success ? undefined : explain(checked.error.issues[0])
  const store = useMutation({
    mutationFn: async () => checked.data && storeCronTrigger(checked.data, trigger?.id),
    onSuccess: onClose,
  })
  const gits = triggers.filter(({ type }) => type === 'git').map(({ name }) => ({ value: name, label: name }))
  return (
    <Dialog
      isOpen
      isWide
      onClose={onClose}
      title={trigger === undefined ? `Add a trigger at times to ${pipeline}` : `Trigger ${trigger.name} of ${pipeline}`}
      actions={
        <>
          <Button tone="primary" off={away ?? wrong} isBusy={store.isPending} onClick={() => store.mutate()}>
            {trigger === undefined ? 'Add the trigger' : 'Save the trigger'}
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </>
      }
    >
      <Field label="Name" value={form.name} onChange={(event) => change({ name: event.target.value })} />
      <div className={layout['pair']}>
        <Field
          label="Cron expression"
          hint="Minute, hour, day, month, weekday; or @daily"
          value={form.expression}
          onChange={(event) => change({ expression: event.target.value })}
        />
        <Field
          label="Time zone"
          list={ZONES}
          value={form.timezone}
          onChange={(event) => change({ timezone: event.target.value })}
        />
        <datalist id={ZONES}>
          {Intl.supportedValuesOf('timeZone').map((zone) => (
            <option key={zone} value={zone} />
          ))}
        </datalist>
      </div>
      <div className={layout['once']} role="status" aria-label="When it builds">
        <strong>{wordsOf(form.expression)}</strong>
        <span>
          <NextTimes schedule={form} />
        </span>
      </div>
      <Field
        label="Message"
        hint="Value of EVENT_MESSAGE. Empty: the name."
        value={form.message}
        onChange={(event) => change({ message: event.target.value })}
      />
      <div className={layout['pair']}>
        <Select
          label="Repository of"
          hint="The builds get the repository of this trigger."
          options={[{ value: '', label: 'no trigger' }, ...gits]}
          value={gitTrigger}
          onChange={(value) => change({ gitTrigger: value })}
        />
        {gitTrigger !== '' && (
          <Field label="Branch" value={branch} onChange={(event) => change({ branch: event.target.value })} />
        )}
      </div>
      {wrong !== undefined && form.name !== '' && <p role="alert">{wrong}</p>}
      {store.error !== null && <Problem error={store.error} />}
      <Command
        text={
          trigger === undefined
            ? toCronCommand({ pipeline, ...form })
            : sh`windlass get cron-triggers ${`${pipeline}#${trigger.name}`} -o yaml`
        }
      />
    </Dialog>
  )
}

function wordsOf(expression: string): string {
  try {
    return describeSchedule(expression)
  } catch {
    return 'The expression cannot be read.'
  }
}

/** Returns the fields that the form does not have. */
function keptOf(trigger: PipelineCronTrigger): object {
  const { nextAt: _next, firedAt: _fired, problem: _problem, gitTrigger: _git, branch: _branch, ...kept } = toInput(trigger)
  return kept
}
