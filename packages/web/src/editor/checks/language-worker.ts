/** The worker that knows the language of pipelines, so that a large document never stops the page. */
import { completeAt, explainAt } from '@windlass/pipeline'
import { checkDocument } from './check-document.ts'
import type { Answered, Question } from './language.ts'

function answerOf(question: Question): Answered['answer'] {
  switch (question.kind) {
    case 'check':
      return checkDocument(question.text, question.run, question.stepTypes)
    case 'complete':
      return completeAt(question.text, question.offset, question.names)
    case 'explain':
      return explainAt(question.text, question.offset, question.names)
  }
}

self.addEventListener('message', ({ data }: MessageEvent<Question>) => {
  const answered: Answered = { id: data.id, answer: answerOf(data) }
  self.postMessage(answered)
})
