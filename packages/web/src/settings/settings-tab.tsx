/** Settings of a pipeline. What its document writes can only be changed there. */
import { useMutation } from '@tanstack/react-query'
import { isFault } from '@windlass/kit/faults'
import type { Pipeline } from '@windlass/protocol'
import { useState, type ReactElement, type ReactNode } from 'react'
import { Link } from 'wouter'
import { useCheck, useLanguage } from '../editor/checks/use-check.ts'
import { Button } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { Field, TextArea } from '../parts/forms/field.tsx'
import { Problem } from '../parts/problem.tsx'
import { sh } from '../parts/shell.ts'
import run from '../pipelines/run.module.css'
import { savePipeline } from '../pipelines/save-pipeline.ts'
import { client } from '../server/client.ts'
import { useSession, whyNot } from '../server/session.ts'
import { useAway } from '../shell/away-bar.tsx'
import { paths } from '../url/paths.ts'
import { Badge } from './badge.tsx'
import { DangerZone } from './danger-zone.tsx'
import {
  DOCUMENT_FIELDS,
  findWrong,
  OPTIONS,
  readForm,
  writeForm,
  type DocumentField,
  type SettingsForm,
  type TextName,
} from './form.ts'
import styles from './settings.module.css'
import { VariablesForm } from './variables-form.tsx'

export function SettingsTab({ pipeline }: { readonly pipeline: Pipeline }): ReactElement {
  const state = useSession()
  const away = useAway()
  const [base, setBase] = useState(pipeline)
  const [form, setForm] = useState(() => readForm(pipeline))
  const language = useLanguage()
  const checked = useCheck(language, base.document, {})
  const written = checked?.written
  const save = useMutation({
    mutationFn: () => savePipeline(base, writeForm(base, form, written ?? [])),
    onSuccess: (saved) => {
      setBase(saved)
      setForm(readForm(saved))
    },
  })
  const reload = async (): Promise<void> => {
    const latest = await client.pipelines.get(base.id)
    setBase(latest)
    setForm(readForm(latest))
    save.reset()
  }
  const isChanged = JSON.stringify(form) !== JSON.stringify(readForm(base))
  const whyNoChange = away ?? whyNot(state.kind === 'in' ? state.session : undefined, 'change-pipelines')
  const off =
    whyNoChange ??
    findWrong(form) ??
    (checked === undefined ? 'The document is being read.' : isChanged ? undefined : 'Nothing has changed.')
  const change = (changes: Partial<SettingsForm>): void => setForm({ ...form, ...changes })
  return (
    <div className={styles['stack']}>
      {written !== undefined && (
        <p className={styles['notice']}>
          The document is a <code>kind: pipeline</code> document. It sets the fields that are off here.{' '}
          <Link href={paths.pipeline(base.name, 'edit')}>Edit the document</Link>
        </p>
      )}
      <form
        className={styles['form']}
        onSubmit={(event) => {
          event.preventDefault()
          if (off === undefined && !save.isPending) save.mutate()
        }}
      >
        <Sections form={form} written={written} change={change} />
        {save.error !== null && (
          <>
            <Problem error={save.error} />
            {isFault(save.error, 'conflict') && (
              <div>
                <Button onClick={() => void reload()}>Drop my changes and show revision of the server</Button>
              </div>
            )}
          </>
        )}
        <div className={styles['buttons']}>
          <Button type="submit" tone="primary" off={off} isBusy={save.isPending}>
            Save the settings
          </Button>
          {isChanged && (
            <Button tone="quiet" onClick={() => setForm(readForm(base))}>
              Discard changes
            </Button>
          )}
        </div>
      </form>
      <Badge pipeline={base} />
      <DangerZone pipeline={base} off={whyNoChange} />
      <Command text={sh`windlass get pipelines ${base.name} -o yaml`} />
    </div>
  )
}

function Section({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactElement {
  return (
    <section className={styles['section']}>
      <h2>{title}</h2>
      {children}
    </section>
  )
}

/** Returns the change of one field. */
function one<K extends string, V>(name: K, value: V): Partial<Record<K, V>> {
  const change: Partial<Record<string, V>> = { [name]: value }
  return change as Partial<Record<K, V>>
}

interface SectionsProps {
  readonly form: SettingsForm
  /** Fields of `spec` that the document writes. Undefined if it only has steps. */
  readonly written: readonly string[] | undefined
  readonly change: (changes: Partial<SettingsForm>) => void
}

function Sections({ form, written, change }: SectionsProps): ReactElement {
  // A `kind: pipeline` document replaces all settings below; an inline document none.
  const isDocument = written !== undefined
  const inDocument = (field: DocumentField): boolean => written?.includes(DOCUMENT_FIELDS[field]) ?? false
  const text = (name: TextName, label: string, hint: string, isOff: boolean): ReactElement => (
    <Field
      label={label}
      hint={isOff ? `${hint}. The document sets it.` : hint}
      value={form[name]}
      disabled={isOff}
      onChange={({ target }) => change(one<TextName, string>(name, target.value))}
    />
  )
  const check = (name: 'replaces' | 'isPublic', label: string): ReactElement => (
    <label className={run['check']}>
      <input
        type="checkbox"
        checked={form[name]}
        disabled={isDocument}
        onChange={({ target }) => change(one<'replaces' | 'isPublic', boolean>(name, target.checked))}
      />
      {label}
    </label>
  )
  return (
    <>
      <Section title="General">
        <TextArea
          label="Description"
          rows={2}
          maxLength={10_000}
          disabled={isDocument}
          value={form.description}
          onChange={(event) => change({ description: event.target.value })}
        />
        <div className={run['pair']}>
          {text('runtime', 'Runtime', 'spec.runtimeEnvironment.name; empty for the default one', inDocument('runtime'))}
          {text('priority', 'Priority', 'spec.priority; -100 to 100, higher ones start first', inDocument('priority'))}
        </div>
      </Section>
      <Section title="Variables and contexts">
        <VariablesForm
          variables={form.variables}
          isOff={inDocument('variables')}
          onChange={(variables) => change({ variables })}
        />
        <TextArea
          label="Contexts, one on each line; later ones override earlier ones"
          rows={3}
          disabled={inDocument('contexts')}
          value={form.contexts}
          onChange={(event) => change({ contexts: event.target.value })}
        />
      </Section>
      <Section title="Limits">
        <div className={styles['grid']}>
          {text('concurrency', 'Builds at a time', 'spec.concurrency; 0 freezes the pipeline', inDocument('concurrency'))}
          {text(
            'branchConcurrency',
            'Builds of a branch at a time',
            'spec.branchConcurrency; empty for no limit',
            inDocument('branchConcurrency'),
          )}
          {text(
            'triggerConcurrency',
            'Builds of a trigger at a time',
            'spec.triggerConcurrency; empty for no limit',
            inDocument('triggerConcurrency'),
          )}
          {text('buildMinutes', 'Longest build', 'Minutes; empty for the limit of the runtime', isDocument)}
          {text('inactiveMinutes', 'Longest silence', 'Minutes without output; empty for the limit of the runtime', isDocument)}
        </div>
        <div className={styles['grid']}>
          {text('cpu', 'CPU', 'Of the Docker daemon, such as 2000m', isDocument)}
          {text('memory', 'Memory', 'Such as 4Gi', isDocument)}
          {text('disk', 'Disk', 'Such as 30Gi', isDocument)}
        </div>
      </Section>
      <Section title="Policies and options">
        {check('replaces', 'A new build terminates earlier builds of its branch')}
        {form.replaces && text('replacesBranch', 'Only for branches that match', 'Regular expression; empty for all', isDocument)}
        {OPTIONS.map(([name, label]) => (
          <label key={name} className={run['check']}>
            <input
              type="checkbox"
              checked={form.options[name]}
              disabled={isDocument}
              onChange={({ target }) => change({ options: { ...form.options, [name]: target.checked } })}
            />
            {label}
          </label>
        ))}
        <label className={styles['select']}>
          Restart from failed steps
          <select
            value={form.restart}
            disabled={isDocument}
            onChange={({ target }) =>
              change({ restart: target.value === 'yes' ? 'yes' : target.value === 'no' ? 'no' : 'account' })
            }
          >
            <option value="account">As the account says</option>
            <option value="yes">Allowed</option>
            <option value="no">Not allowed</option>
          </select>
        </label>
        <TextArea
          label="Pipelines of other projects whose steps may start this one, one on each line"
          rows={2}
          disabled={isDocument}
          value={form.startedBy}
          onChange={(event) => change({ startedBy: event.target.value })}
        />
        {check('isPublic', 'Any person may see the badge, and the status and logs of builds, without an account')}
      </Section>
    </>
  )
}
