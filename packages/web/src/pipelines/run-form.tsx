/** Runs a pipeline with a branch, a trigger and variables. The command line beside it starts the same build. */
import { useMutation, useQuery } from '@tanstack/react-query'
import type { Pipeline } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { useLocation, useSearch } from 'wouter'
import { Button } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { Field, TextArea } from '../parts/field.tsx'
import { Problem } from '../parts/problem.tsx'
import { client } from '../server/client.ts'
import { queries } from '../server/queries.ts'
import { queryClient } from '../server/query-client.ts'
import { useSession, whyNot } from '../server/session.ts'
import { useAway } from '../shell/away-bar.tsx'
import { paths } from '../url/paths.ts'
import styles from './pipelines.module.css'
import { readVariables, toBuildInput, toRunCommand, type RunForm } from './run-command.ts'

export function RunFormView({ pipeline }: { readonly pipeline: Pipeline }): ReactElement {
  const search = useSearch()
  const [, go] = useLocation()
  const state = useSession()
  const away = useAway()
  const [form, setForm] = useState(() => readForm(pipeline.name, search))
  const { data: triggers } = useQuery(queries.triggers(pipeline.name))
  const read = readVariables(form.variables)
  const variables = typeof read === 'number' ? {} : read
  const start = useMutation({
    mutationFn: () => client.builds.create(toBuildInput(form, variables)),
    onSuccess: (build) => {
      queryClient.setQueryData(queries.build(build.id).queryKey, build)
      void queryClient.invalidateQueries({ queryKey: ['builds'] })
      go(paths.build(build.id))
    },
  })
  const wrong = typeof read === 'number' ? `Line ${read} of the variables is not NAME=value.` : undefined
  const names = triggers?.items.map(({ name }) => name) ?? []
  const off = away ?? whyNot(state.kind === 'in' ? state.session : undefined, 'start-builds') ?? wrong
  return (
    <form
      className={styles['form']}
      onSubmit={(event) => {
        event.preventDefault()
        if (off === undefined && !start.isPending) start.mutate()
      }}
    >
      <Field
        label="Branch"
        maxLength={500}
        value={form.branch}
        onChange={(event) => setForm({ ...form, branch: event.target.value })}
      />
      <Field
        label="Trigger"
        hint={names.length === 0 ? 'The pipeline has no triggers by git events.' : `Triggers: ${names.join(', ')}`}
        maxLength={300}
        value={form.trigger}
        onChange={(event) => setForm({ ...form, trigger: event.target.value })}
      />
      <TextArea
        label="Variables, one NAME=value on each line"
        rows={4}
        value={form.variables}
        onChange={(event) => setForm({ ...form, variables: event.target.value })}
      />
      {wrong !== undefined && <p role="alert">{wrong}</p>}
      {start.error !== null && <Problem error={start.error} />}
      <div className={styles['buttons']}>
        <Button type="submit" tone="primary" off={off} isBusy={start.isPending}>
          Run the pipeline
        </Button>
      </div>
      <Command text={toRunCommand(form, variables)} />
    </form>
  )
}

/** Reads the form that an address fills in: `?branch=&trigger=&v.NAME=`. */
function readForm(pipeline: string, search: string): RunForm {
  const params = new URLSearchParams(search)
  const lines = [...params].flatMap(([name, value]) => (name.startsWith('v.') ? [`${name.slice(2)}=${value}`] : []))
  return { pipeline, branch: params.get('branch') ?? '', trigger: params.get('trigger') ?? '', variables: lines.join('\n') }
}
