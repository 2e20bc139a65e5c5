"""The public data sets that are known by name, with their origins, citations and checksums."""

from __future__ import annotations

from collections.abc import Mapping

from crowdstream_lab.datasets.dataset import Meta
from crowdstream_lab.datasets.sources import (
    NONE_STATED,
    Download,
    Entry,
    _tree,
    at_scale,
    columns_reader,
    cubam_gold,
    cubam_labels,
    known,
    snow,
    spectral,
    toolkit,
)

# Said of more than one set.
SNOW = "Snow, O'Connor, Jurafsky, Ng. Cheap and Fast - But is it Good? EMNLP 2008."


SNOW_LICENCE = "released by the authors for research, no explicit licence; repository: MIT"


ZHOU = "Zhou, Basu, Mao, Platt. Learning from the Wisdom of Crowds by Minimax Entropy. NIPS 2012."


RODRIGUES = (
    "Rodrigues, Pereira, Ribeiro. Learning from multiple annotators: distinguishing good from "
    "random labelers. PRL 2013."
)


ZHENG = (
    "Via Zheng, Li, Li, Shan, Cheng. Truth Inference in Crowdsourcing: Is the Problem Solved? "
    "PVLDB 2017."
)


RECODED = "Ids and classes are numbers from 0; the source does not say what they mean."


REGISTRY: Mapping[str, Entry] = {
    "bird": known(
        Download(
            "welinder/cubam",
            "fe5ba700f1adbb489c69af311558d64370d73d36",
            "demo/bluebirds/labels.yaml",
            cubam_labels,
            "cc052f55b342e28036b9a6387b84dab175362b277d897346b430c9f3241881be",
            "demo/bluebirds/gt.yaml",
            cubam_gold,
        ),
        "Bluebirds: indigo bunting (1) or not (0)",
        "Welinder, Branson, Belongie, Perona. The Multidimensional Wisdom of Crowds. NIPS 2010.",
        "BSD-style (LICENSE.TXT of the repository)",
        "Everybody labelled everything.",
    ),
    "dog": known(
        spectral("dog", "54595c39a5d6ec71cca2d9ff2a02f11f211099671cb58859ed319419d925210b"),
        "Dogs of ImageNet, four breeds",
        ZHOU,
    ),
    "duchenne": known(
        Download(
            "pmaglione/crowd-datasets",
            "3efbceb525a13685355fd3d306b7ce1453302eb9",
            "WVSCM/workerResponses.txt",
            columns_reader("worker", "task", "label"),
            "ef4ef17bf70f5c6e6c0c4ea2e96f52d4b825d50796fbcd54e360d6b041f500e7",
            "WVSCM/groundTruth.txt",
            columns_reader("task", "label"),
        ),
        "Smiles, Duchenne (1) or not (0)",
        "Whitehill, Ruvolo, Wu, Bergsma, Movellan. Whose Vote Should Count More. NIPS 2009.",
        notes="2,134 images, 30,319 rows of which 12,590 repeat an earlier (task, worker) pair; "
        "gold for 160 images, 159 of them labelled. Of the paper's Table 1, 160 are the images "
        "with gold and 64 the workers of the whole file. Its 1,311 labels are as many as there "
        "are different (task, worker, label) among images 2001 to 2162, from the first with gold "
        "to the last; that may be chance.",
    ),
    "fact_eval": known(
        at_scale(
            "crowdscale2013/fact_eval",
            "7d92e240da2a6019e64861967582b83c8a4fc5f64f42a9abfe9c0a08ff57ec35",
        ),
        "Google fact evaluation judgements",
        "CrowdScale 2013 shared task (Josephy, Lease, Paritosh).",
        "MIT (repository)",
        RECODED,
    ),
    "labelme": known(
        Download(
            "JunjieChiang/Label-Aggregation",
            "d153fa4c651d3f4e495a0d5f8929de7af1128608",
            "data/labelme/answer.csv",
            columns_reader("task", "worker", "label", separator=","),
            "48f556f232c5e5adb242fc0e69f2bf864afa7d158a88cf4bcc3f01790f1f3887",
            "data/labelme/truth.csv",
            columns_reader("task", "label", separator=","),
        ),
        "LabelMe, eight kinds of scenes",
        "Rodrigues, Lourenço, Ribeiro, Pereira. Learning supervised topic models for "
        "classification and regression from crowds. TPAMI 2017.",
        notes="Coded anew by the source.",
    ),
    "llm_media_bias": Entry(
        Meta(
            "Media bias as 13 language models see it, zero-shot",
            _tree(
                "Media-Bias-Group/llm-annotations-annomatic",
                "d6298d3d4e706005a56ab313dff401a9fd9f4aa1",
            ),
            licence="MIT",
            notes="The workers are language models. From benchmark/zero-shot/"
            "all_runs_with_errors.csv, one prompt a model.",
        )
    ),
    "llm_relevance": Entry(
        Meta(
            "Relevance of TREC 2023 passages as 33 runs of language models see it",
            _tree("llm4eval/LLMJudge-benchmark", "968a1f9c962fddfc6508faa2d45e3e7edd1c3829"),
            "Rahmani et al. Judging the Judges: A Collection of LLM-Generated Relevance "
            "Judgements. arXiv 2502.13908, 2025.",
            "MIT; none stated for the gold file",
            "The workers are language models; runs of one team are much alike. From "
            "submissions/scores/*.txt; gold is data/llmjudge_test_qrel_idx.txt of "
            "llm4eval/LLMJudge.",
        )
    ),
    "medical_cause": Entry(
        Meta(
            "Does a sentence say that one medical term causes the other",
            _tree(
                "CrowdTruth/Medical-Relation-Extraction",
                "585c158864f91d7e7666f70d3b705294186e1378",
            ),
            "Dumitrache, Aroyo, Welty. Crowdsourcing Ground Truth for Medical Relation "
            "Extraction. ACM TiiS 8(2), 2018.",
            f"{NONE_STATED} (data: DOI 10.5281/zenodo.50676)",
            "1 if the worker chose [CAUSES] among the relations; in true order of time. From "
            "raw/RelEx/RelEx_batch_01.csv to _46.csv by _created_at; gold is the experts' column "
            "of ground_truth_cause.csv.",
        )
    ),
    "music_genre": known(
        toolkit("MS", "34e318c0d355124a8434d78bb1b1c788358552d62c424f363f9cff7e26b87bae"),
        "Music, ten genres",
        RODRIGUES,
        "Apache-2.0 (repository)",
    ),
    "product": known(
        at_scale(
            "crowd_truth_inference/d_jn-product",
            "66ed6ed82b57e88a0291b41a92ab70d6b570f78e14b07dac895af83a9e63bba6",
        ),
        "Are two products the same",
        f"Wang, Kraska, Franklin, Feng. CrowdER. PVLDB 2012. {ZHENG}",
        "MIT (repository)",
        RECODED,
    ),
    "relevance": known(
        at_scale(
            "crowd_truth_inference/s4_Relevance",
            "dec802d92ef5ffda65b008a092e5be8156a7c0a44f750c8b5ece2cf34b306318",
        ),
        "Relevance of documents, TREC 2010",
        f"Buckley, Lease, Smucker. TREC 2010 relevance feedback track. {ZHENG}",
        "MIT (repository)",
        RECODED,
    ),
    "rte": known(
        snow("rte", "47e0ec37b9961590b26b4cd5f7753b59d7c3c6c41a53df16dc3096e212c03d72"),
        "Recognising textual entailment (1) or none (0)",
        SNOW,
        SNOW_LICENCE,
        "Ten labels per task.",
    ),
    "sentiment_polarity": known(
        toolkit("SP", "9949b1233bddebca0cf076df34cd5d6c0d22e0b306c3464e69df6ed7a39d8221"),
        "Sentences of film reviews, positive or negative",
        RODRIGUES,
        "Apache-2.0 (repository)",
    ),
    "temp": known(
        snow("temp", "7d18ddda26571a745cfa67f194e337dad2e649a7e2376036531b42c86fff77a0"),
        "Which of two events is first: before (1) or after (2)",
        SNOW,
        SNOW_LICENCE,
        "Ten labels per task.",
    ),
    "trec": known(
        spectral("trec", "ec4b92c639fea4b74d49b867095cbbe26c72616162c9201a0df941584c540186"),
        "Relevance of web pages, TREC 2011",
        "TREC 2011 crowdsourcing track; Lease & Kazai 2011. With Zhang, Chen, Zhou, Jordan. "
        "Spectral Methods Meet EM. JMLR 2016.",
        notes="Gold for 2,275 of 19,033 tasks.",
    ),
    "weather": known(
        toolkit("CF_amt", "5af2adb3eee1cb9c82605790b39eb66ba182159f30f86222c3ddb86960446ef7"),
        "Sentiment of tweets on the weather",
        "Venanzi, Guiver, Kazai, Kohli, Shokouhi. Community-Based Bayesian Aggregation Models "
        "for Crowdsourcing. WWW 2014.",
        "Apache-2.0 (repository)",
        "Five (task, worker) pairs stand there twice.",
    ),
    "web": known(
        spectral("web", "ec4c1c5b7c6d515c559186ff504286c9a700094d34b809d105e640f5fedfced8"),
        "Relevance of web pages, five levels",
        ZHOU,
        notes="Gold for 2,653 of 2,665 tasks.",
    ),
    "zencrowd_us": known(
        toolkit("ZenCrowd_us", "40e19396f4451ef12dffb3b03897f2189a5c0e40a9f65e4d579ee4392176cdcc"),
        "Does a link fit a name in the news",
        "Demartini, Difallah, Cudré-Mauroux. ZenCrowd. WWW 2012.",
        "Apache-2.0 (repository)",
        "1,035 rows repeat an earlier (task, worker) pair.",
    ),
}
"""The known public sets."""
