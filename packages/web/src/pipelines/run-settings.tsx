/** Settings of one run that most runs do not need. */
import { useId, type ReactElement } from 'react'
import { Field, TextArea } from '../parts/forms/field.tsx'
import styles from './run.module.css'
import type { RunSwitch, RunValues } from './run-values.ts'

interface RunSettingsProps {
  readonly values: RunValues
  /** Names of the steps that can be chosen. */
  readonly steps: readonly string[]
  readonly onChange: (changes: Partial<RunValues>) => void
}

const SWITCHES: readonly (readonly [RunSwitch, string])[] = [
  ['noCache', 'Build images without cache'],
  ['noCfCache', 'Do not use images of earlier builds as cache'],
  ['resetVolume', 'Start with an empty shared volume'],
  ['enableNotifications', 'Send notifications as for a triggered build'],
  ['debug', 'Debug run: stop at the breakpoints of the document'],
]

function switched(name: RunSwitch, isOn: boolean): Partial<Record<RunSwitch, boolean>> {
  return { [name]: isOn }
}

export function RunSettings({ values, steps, onChange }: RunSettingsProps): ReactElement {
  const id = useId()
  const isUsed =
    SWITCHES.some(([name]) => values[name]) ||
    [values.runtime, values.cpu, values.memory, values.disk, values.only, values.skip, values.annotations].some(
      (one) => one !== '',
    )
  return (
    <details className={styles['settings']} open={isUsed}>
      <summary>More settings</summary>
      <datalist id={`${id}-steps`}>
        {steps.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <div className={styles['pair']}>
        <Field
          label="Run only these steps"
          hint="Names, separated by commas"
          list={`${id}-steps`}
          value={values.only}
          onChange={(event) => onChange({ only: event.target.value })}
        />
        <Field
          label="Skip these steps"
          hint="Names, separated by commas"
          list={`${id}-steps`}
          value={values.skip}
          onChange={(event) => onChange({ skip: event.target.value })}
        />
      </div>
      <div className={styles['quarter']}>
        <Field
          label="Runtime"
          placeholder="Of the pipeline"
          value={values.runtime}
          onChange={(event) => onChange({ runtime: event.target.value })}
        />
        <Field label="CPU" placeholder="2000m" value={values.cpu} onChange={(event) => onChange({ cpu: event.target.value })} />
        <Field
          label="Memory"
          placeholder="4Gi"
          value={values.memory}
          onChange={(event) => onChange({ memory: event.target.value })}
        />
        <Field label="Disk" placeholder="30Gi" value={values.disk} onChange={(event) => onChange({ disk: event.target.value })} />
      </div>
      <TextArea
        label="Annotations, one NAME=value on each line"
        rows={2}
        value={values.annotations}
        onChange={(event) => onChange({ annotations: event.target.value })}
      />
      <div className={styles['switches']}>
        {SWITCHES.map(([name, label]) => (
          <label key={name} className={styles['check']}>
            <input type="checkbox" checked={values[name]} onChange={({ target }) => onChange(switched(name, target.checked))} />
            {label}
          </label>
        ))}
      </div>
    </details>
  )
}
