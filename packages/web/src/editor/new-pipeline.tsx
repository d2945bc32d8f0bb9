/** Makes a pipeline: a name, a document to start from, and its first build. */
import { useMutation } from '@tanstack/react-query'
import type { Pipeline } from '@windlass/protocol'
import { useEffect, useState, type ReactElement } from 'react'
import { useLocation } from 'wouter'
import { Button } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { Field } from '../parts/forms/field.tsx'
import { Problem } from '../parts/problem.tsx'
import { client } from '../server/client.ts'
import { queries } from '../server/queries.ts'
import { queryClient } from '../server/query-client.ts'
import { Page } from '../shell/page.tsx'
import { tellProblem } from '../shell/toasts.tsx'
import { useOff } from '../shell/use-off.ts'
import { paths } from '../url/paths.ts'
import { DocumentEditor } from './document-editor.tsx'
import { keepDraft, readDraft } from './drafts.ts'
import styles from './editor.module.css'
import { START_DOCUMENTS } from './start-documents.ts'
import type { Checked } from './checks/use-check.ts'

const FIRST = START_DOCUMENTS[0]?.document ?? ''
/** Key of the draft of a pipeline that has no name yet. */
const NEW = ''

export function NewPipeline(): ReactElement {
  const [, go] = useLocation()
  const [name, setName] = useState('')
  const [text, setText] = useState(() => readDraft(NEW)?.text ?? FIRST)
  const [version, setVersion] = useState(0)
  const [branch, setBranch] = useState('main')
  const [checked, setChecked] = useState<Checked>()
  const whyNoChange = useOff('change-pipelines')
  const whyNoStart = useOff('start-builds')
  useEffect(() => {
    keepDraft(NEW, START_DOCUMENTS.some(({ document }) => document === text) ? undefined : { revision: 0, text })
  }, [text])
  const create = useMutation({
    mutationFn: async (isRun: boolean): Promise<string> => {
      const pipeline = await client.pipelines.create({ name: name.trim(), document: text })
      remember(pipeline)
      keepDraft(NEW, undefined)
      if (!isRun) return paths.pipeline(pipeline.name)
      try {
        const build = await client.builds.create({ pipeline: pipeline.name, ...(branch !== '' && { branch }) })
        return paths.build(build.id)
      } catch (error) {
        // The pipeline exists now: a second try goes from its own screen.
        tellProblem(error)
        return paths.pipeline(pipeline.name, 'run')
      }
    },
    onSuccess: (path) => go(path),
  })
  const hasErrors = checked?.problems.some(({ severity }) => severity === 'error') ?? false
  const missing = name.trim() === '' ? 'The pipeline needs a name.' : hasErrors ? 'The document has errors.' : undefined
  const off = whyNoChange ?? missing
  const whyNoRun = off ?? whyNoStart
  const start = (isRun: boolean): void => {
    if ((isRun ? whyNoRun : off) === undefined && !create.isPending) create.mutate(isRun)
  }
  return (
    <Page title="New pipeline">
      <div className={styles['editor']}>
        <div className={styles['bar']}>
          <Field
            label="Name"
            placeholder="project/name"
            maxLength={200}
            autoFocus
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
          <div className={styles['buttons']}>
            <Button off={off} isBusy={create.isPending} onClick={() => start(false)}>
              Create the pipeline
            </Button>
            <Button tone="primary" off={whyNoRun} isBusy={create.isPending} onClick={() => start(true)}>
              Create and run
            </Button>
          </div>
          {whyNoRun !== undefined && <p className="quiet">{whyNoRun}</p>}
        </div>
        <div className={styles['starts']} role="group" aria-label="Start from">
          {START_DOCUMENTS.map((one) => (
            <button
              key={one.name}
              type="button"
              className={styles['begin']}
              aria-pressed={text === one.document}
              onClick={() => {
                setText(one.document)
                setVersion(version + 1)
              }}
            >
              <strong>{one.name}</strong>
              <span>{one.about}</span>
            </button>
          ))}
        </div>
        {create.error !== null && <Problem error={create.error} />}
        <DocumentEditor
          pipeline={undefined}
          text={text}
          version={version}
          planWith={{ branch, trigger: '' }}
          onChange={setText}
          onSave={() => start(false)}
          onRun={() => start(true)}
          onChecked={setChecked}
          planFields={
            <Field
              label="Branch of the first build"
              value={branch}
              maxLength={500}
              onChange={(event) => setBranch(event.target.value)}
            />
          }
        />
        <Command text="windlass apply -f pipeline.yml" />
      </div>
    </Page>
  )
}

/** Puts a new pipeline into the cache. */
function remember(pipeline: Pipeline): void {
  queryClient.setQueryData(queries.pipeline(pipeline.name).queryKey, pipeline)
  void queryClient.invalidateQueries({ queryKey: ['pipelines'] })
}
